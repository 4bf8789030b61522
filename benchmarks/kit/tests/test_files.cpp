// Tests of hashes and JSON.
#include "../pack/sha256.hpp"
#include "check.hpp"
#include "mpet/json.hpp"

namespace {

// The examples of FIPS 180-4, and a million times 'a'.
TEST(sha256_gives_the_published_digests) {
    CHECK_EQUAL(mpet::sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_EQUAL(mpet::sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_EQUAL(mpet::sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    CHECK_EQUAL(mpet::sha256(std::string(1000000, 'a')),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(json_strings_are_escaped_and_valid_utf8) {
    CHECK_EQUAL(mpet::json::quoted("a\"b\\c\n\t"), "\"a\\\"b\\\\c\\u000a\\u0009\"");
    CHECK_EQUAL(mpet::json::quoted("K\xc3\xb6ln \xe2\x82\xac"), "\"K\xc3\xb6ln \xe2\x82\xac\"");
    CHECK_EQUAL(mpet::json::quoted("\xff\xc3"), "\"??\"");
    CHECK_EQUAL(mpet::json::quoted("\xc0\xaf"), "\"??\"");
}

TEST(json_objects_keep_their_order) {
    mpet::json::Object object;
    object.add("b", mpet::json::number(1)).add("a", mpet::json::number(std::optional<std::int64_t>()));
    CHECK_EQUAL(object.str(), "{\n  \"b\": 1,\n  \"a\": null\n}");
}

}  // namespace

CHECK_MAIN
