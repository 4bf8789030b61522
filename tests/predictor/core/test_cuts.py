"""Small databases drawn from a large one."""

from dataclasses import replace

import numpy as np
import pytest

from predictor.core.answers import Method
from predictor.core.cuts import Size, known_at, known_up_to, random_cut, with_wrong_profiles
from predictor.core.database import Database
from predictor.core.evaluate import Protocol, chosen_rows, evaluate, evaluated_databases, predicted_rows
from predictor.core.methods import METHODS
from profiles.jobs.executors import Processes
from tests.predictor.core.curves import curve_arrays, curve_database

SIZE = Size(4, 5)


@pytest.fixture
def database():
    return curve_database(3, 12, 9, missing=0.2)


def names_of(database, row):
    return database.platforms[database.platform_index[row]], database.workloads[database.workload_index[row]]


def test_a_cut_is_a_database_of_its_own_with_the_same_profiles(database):
    cut = random_cut(database, SIZE, seed=1, which=0)
    assert (len(cut.database.platforms), len(cut.database.workloads)) == SIZE
    pairs = [names_of(database, row) for row in range(len(database))]
    inside = [pair[0] in cut.database.platforms and pair[1] in cut.database.workloads for pair in pairs]
    assert cut.rows.tolist() == np.flatnonzero(inside).tolist()
    for row, whole in enumerate(cut.rows.tolist()):
        assert names_of(cut.database, row) == names_of(database, whole)
        for own, other in zip(cut.database.curve(row), database.curve(whole), strict=True):
            np.testing.assert_array_equal(own, other)
        np.testing.assert_array_equal(cut.database.features[row], database.features[whole])
        assert cut.database.t1_s[row] == database.t1_s[whole]


def test_platforms_and_workloads_keep_what_is_known_of_them():
    arrays = curve_arrays(3, 12, 9)
    arrays |= {"n_nu": np.arange(12.0), "n_ht": np.arange(12.0) + 20, "n_max": np.arange(12) + 16}
    database = Database.build(**arrays)
    cut = random_cut(database, SIZE, seed=1, which=0).database
    platforms = [database.platforms.index(slug) for slug in cut.platforms]
    workloads = [database.workloads.index(slug) for slug in cut.workloads]
    for name in ("n_nu", "n_ht", "n_max"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(database, name)[platforms])
    for own, whole, chosen in (
        (cut.platform_table, database.platform_table, platforms),
        (cut.workload_table, database.workload_table, workloads),
    ):
        for name, column in whole.items():
            np.testing.assert_array_equal(own[name], np.asarray(column)[chosen])


def test_no_two_platforms_of_a_cut_are_of_one_cpu_model(database):
    """Platforms of unknown cpu_model are like no other."""
    for which in range(20):
        models = random_cut(database, Size(6, 5), seed=0, which=which).database.platform_table["cpu_model"]
        assert len(set(models)) == 6
    arrays = curve_arrays(3, 12, 9)
    arrays["platform_table"]["cpu_model"] = [""] * 12
    assert len(random_cut(Database.build(**arrays), Size(12, 9), seed=0, which=0).database.platforms) == 12


def test_the_same_seed_and_number_draw_the_same(database):
    def drawn(seed, which):
        cut = random_cut(database, SIZE, seed, which).database
        return cut.platforms, cut.workloads

    assert drawn(1, 0) == drawn(1, 0)
    assert len({drawn(seed, which) for seed in (1, 2) for which in (0, 1)}) == 4


def test_what_is_hidden_is_in_no_cut(database):
    hidden = database.without(np.arange(12), 4)
    for which in range(10):
        cut = random_cut(hidden, Size(4, 8), seed=0, which=which)
        assert database.workloads[4] not in cut.database.workloads
        assert not cut.database.hidden.any()


@pytest.mark.parametrize(
    ("size", "is_diverse", "reason"),
    [
        ((7, 5), False, "6 platforms of different cpu_model"),
        ((4, 10), False, "9 workloads"),
        ((3, 5), True, "only 2 platforms of different microarchitecture"),
    ],
)
def test_a_cut_larger_than_the_database_says_what_there_is(size, is_diverse, reason):
    database = curve_database(3, 12, 9, missing=0.0)
    if is_diverse:
        database = diverse_database(["x86_64"] * 12, ["Zen4", "Zen5"] * 6)
    with pytest.raises(ValueError, match=reason):
        random_cut(database, Size(*size), seed=0, which=0, diverse=is_diverse)


def diverse_database(architectures, microarchitectures):
    arrays = curve_arrays(3, 12, 9, missing=0.0)
    arrays["platform_table"] |= {
        "cpu_model": [f"cpu{i}" for i in range(12)],
        "architecture": architectures,
        "microarchitecture": microarchitectures,
    }
    return Database.build(**arrays)


@pytest.mark.parametrize("which", range(10))
def test_a_diverse_cut_takes_turns_of_instruction_sets_microarchitectures_and_years(which):
    """Among eight Zen4 and Emerald Rapids of 2022 and 2023, one Zen2 of 2019 and three ARM cores of 2021 and 2022."""
    architectures = ["x86_64"] * 9 + ["aarch64"] * 3
    names = ["Zen4"] * 4 + ["Emerald Rapids"] * 4 + ["Zen2", "Neoverse-N2", "Neoverse-N2", "Neoverse-V2"]
    table = random_cut(
        diverse_database(architectures, names), Size(3, 5), seed=0, which=which, diverse=True
    ).database.platform_table
    assert len(set(table["microarchitecture"])) == 3
    assert set(table["architecture"]) == {"x86_64", "aarch64"}
    years = {"Zen4": 2022, "Emerald Rapids": 2023, "Zen2": 2019, "Neoverse-N2": 2021, "Neoverse-V2": 2022}
    assert len({years[name] for name in table["microarchitecture"]}) == 3


def test_diverse_cuts_differ_and_unknown_microarchitectures_are_like_no_other():
    database = diverse_database(["x86_64"] * 12, [""] * 12)
    drawn = {random_cut(database, SIZE, 0, which, diverse=True).database.platforms for which in range(8)}
    assert len(drawn) > 4
    plain = {random_cut(database, SIZE, 0, which).database.platforms for which in range(8)}
    assert drawn == plain


def test_a_protocol_evaluates_diverse_cuts():
    database = diverse_database(["x86_64"] * 11 + ["aarch64"], [f"core{i}" for i in range(12)])
    diverse, plain = (
        [
            "aarch64" in part.database.platform_table["architecture"]
            for part in evaluated_databases(database, Protocol(cut=Size(2, 5), cuts=6, diverse=diverse))
        ]
        for diverse in (True, False)
    )
    assert all(diverse)
    assert not all(plain)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"cut": Size(1, 5)}, "1x5"),
        ({"cut": Size(5, 1)}, "5x1"),
        ({"cut": SIZE, "cuts": 0}, "cuts must be at least 1"),
        ({"cut": SIZE, "targets": (1,)}, "targets"),
        ({"diverse": True}, "needs a cut"),
        ({"known_n": 2, "known_at": "ends"}, "cannot be combined"),
        ({"known_at": "least"}, "unknown known_at 'least'; known: ends, half, most, workload-most"),
        *(({"wrong": share}, "between 0 and 1") for share in (0.0, 1.0, -0.1)),
    ],
)
def test_protocols_that_make_no_sense(wrong, reason):
    with pytest.raises(ValueError, match=reason):
        Protocol(**wrong)


def test_every_cut_is_evaluated_by_itself(database):
    """A method that notes what it may see: nothing but one cut, less the pair."""
    seen = []

    def predict(view, query, settings):
        seen.append((view.platforms, view.workloads, len(view) - int(view.hidden.sum())))
        return METHODS["speed-ratio"].predict(view, query, settings)

    noting = Method(name="noting", version="1", settings=METHODS["speed-ratio"].settings, predict=predict)
    protocol = Protocol(cut=SIZE, cuts=3, sample=6, seed=4)
    progress = []
    evaluation = evaluate(database, [noting], protocol, progress=lambda *at: progress.append(at))
    parts = [part.database for part in evaluated_databases(database, protocol)]
    assert seen == [(part.platforms, part.workloads, len(part) - 1) for part in parts for _ in range(6)]
    assert progress[-1] == (18, 18)
    predicted = [(one.platform, one.workload) for one in evaluation.outcomes["noting"]]
    assert predicted == [names_of(database, row) for row in predicted_rows(database, protocol).tolist()]


def test_processes_change_nothing(database):
    protocol = Protocol(cut=SIZE, cuts=2, holdout="cpu_model", probes=2)
    methods = [METHODS["mpet"], METHODS["ridge"]]
    one, two = (evaluate(database, methods, protocol, executor=Processes(jobs)).report().methods for jobs in (1, 2))
    for name in ("mpet", "ridge"):
        assert replace(one[name], seconds=0.0) == replace(two[name], seconds=0.0)


def test_the_whole_database_is_one_part(database):
    parts = evaluated_databases(database, Protocol(sample=5))
    assert [part.database for part in parts] == [database]
    assert predicted_rows(database, Protocol(sample=5)).tolist() == chosen_rows(database, Protocol(sample=5)).tolist()


def test_a_workload_known_up_to_some_threads_is_known_with_no_more():
    database = curve_database(3, 6, 5, missing=0.2)
    known = known_up_to(database, 2, 4)
    assert (known.platforms, known.workloads, len(known)) == (database.platforms, database.workloads, len(database))
    for row in range(len(database)):
        (n, time_s), (known_n, known_s) = database.curve(row), known.curve(row)
        most = 4 if database.workload_index[row] == 2 else n.max()
        assert known_n.tolist() == n[n <= most].tolist()
        assert known_s.tolist() == time_s[n <= most].tolist()
        assert np.isnan(known.features[row]).all() == (database.workload_index[row] == 2)


def test_profiles_of_which_nothing_is_left_are_not_there():
    database = curve_database(3, 6, 5, missing=0.0, counts=(4, 8))
    known = known_up_to(database, 2, 2)
    assert not len(known.rows_of_workload(2))
    assert len(known) == len(database) - len(database.platforms)


def test_errors_are_counted_by_how_far_beyond_what_was_known_they_are():
    """Every workload is ideal but for a serial part; what was known up to n = 2 is asked at 4, 8 and 16."""
    database = curve_database(3, 12, 8, missing=0.0)
    result = evaluate(database, [METHODS["mpet"], METHODS["ideal"]], Protocol(known_n=2, sample=6, seed=1))
    distances = result.by_distance()
    assert list(distances) == ["3 to 8", "9 to 16"]
    for of_method in distances.values():
        assert of_method["mpet"].count == of_method["ideal"].count == 6
        assert of_method["mpet"].mean < of_method["ideal"].mean
        assert 0 <= of_method["mpet"].coverage <= 1
        assert of_method["ideal"].coverage is None


@pytest.mark.parametrize("kind", ["ends", "half", "most", "workload-most"])
def test_what_is_known_and_what_is_asked(kind):
    """Both ends: the counts between them are asked. Every second platform with up to two threads: those above. All
    threads only: these are. The workload with all threads only: every count of the target."""
    database = curve_database(3, 12, 8, missing=0.0)
    of_first = database.workload_index == database.workload_index[0]
    known = known_at(database, kind, int(database.workload_index[0]))
    for row in range(len(database)):
        n = database.curve(row)[0].tolist()
        few = [one for one in n if one <= 2] if database.platform_index[row] % 2 == 0 else n
        parts = {"ends": [n[0], n[-1]], "half": few, "most": [n[-1]], "workload-most": [n[-1]] if of_first[row] else n}
        assert known.curve(row)[0].tolist() == parts[kind]
    protocol = Protocol(known_at=kind, sample=6, seed=1)
    result = evaluate(database, [METHODS["mpet"]], protocol)
    counts = [database.curve(row)[0].tolist() for row in chosen_rows(database, protocol).tolist()]
    asked = {"ends": slice(1, -1), "half": slice(2, None), "most": slice(-1, None), "workload-most": slice(None)}[kind]
    assert [[point.n for point in one.beyond] for one in result.outcomes["mpet"]] == [n[asked] for n in counts]
    first = {"ends": "2 to 8", "half": "3 to 8", "most": "9 to 16", "workload-most": "1 to 8"}[kind]
    assert next(iter(result.by_distance())) == first


def test_a_share_of_the_profiles_is_wrong_and_what_is_compared_is_not():
    database = curve_database(5, 30, 20, missing=0.0)
    wrong = with_wrong_profiles(database, 0.2, seed=3)
    ratios = wrong.curve_time_s / database.curve_time_s
    per_row = np.split(ratios, database.curve_offsets[1:-1])
    is_wrong = np.array([bool((each != 1.0).any()) for each in per_row])
    assert 0.15 < is_wrong.mean() < 0.25
    constant = np.array([np.ptp(np.log(each)) < 1e-9 for each in per_row])
    level = np.abs(np.log([each[0] for each in per_row]))[is_wrong & constant]
    np.testing.assert_allclose(level[level > np.log(10.1)], np.log(1e3))
    assert (level >= np.log(2.0) - 1e-9).all()
    np.testing.assert_array_equal(wrong.t1_s[~is_wrong], database.t1_s[~is_wrong])


def test_a_twentieth_of_wrong_profiles_costs_little():
    """In the median 1.9 % in place of 1.1; without a look for what is wrong 11."""
    database = curve_database(5, 30, 20, missing=0.0)
    right, among_wrong = (
        evaluate(database, [METHODS["mpet"]], Protocol(wrong=wrong, sample=30, seed=3)).report().methods["mpet"].full
        for wrong in (None, 0.05)
    )
    assert right.median is not None and among_wrong.median is not None
    assert right.median < among_wrong.median < 2.0 * right.median
