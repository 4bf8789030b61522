"""How much a search may ask for: each word is one more condition on every column that is searched."""

MOST_WORDS = 10
MOST_CHARACTERS = 200


def words_of_search(text: str) -> list[str]:
    """The words of a search.

    >>> words_of_search('fft, "two words"')
    ['fft', '"two', 'words"']
    """
    return text.replace(",", " ").split()


def search_refusal(text: str) -> str:
    """Why nothing is searched for; "" where the search is one that is answered.

    >>> search_refusal("fft machine-1")
    ''
    >>> search_refusal("a " * 11)
    'A search has at most 10 words; this one has 11.'
    """
    if "\0" in text:
        return "A search has no null characters."
    if len(text) > MOST_CHARACTERS:
        return f"A search has at most {MOST_CHARACTERS} characters; this one has {len(text)}."
    count = len(words_of_search(text))
    return f"A search has at most {MOST_WORDS} words; this one has {count}." if count > MOST_WORDS else ""
