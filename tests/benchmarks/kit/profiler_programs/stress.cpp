// Uses every construct of OpenMP that the profiler stands in front of. What it prints is the same for any number of threads.
#include <omp.h>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

static long total;

struct alignas(64) Aligned {
    long values[9];
};

static long fibonacci(int n) {
    if (n < 2) return n;
    long a = 0, b = 0;
#pragma omp task shared(a) if (n > 8)
    a = fibonacci(n - 1);
#pragma omp task shared(b) untied
    b = fibonacci(n - 2);
#pragma omp taskwait
    return a + b;
}

static void quicksort(int* a, int low, int high) {
    int i = low, j = high;
    const int pivot = a[(low + high) / 2];
    while (i <= j) {
        while (a[i] < pivot) i++;
        while (a[j] > pivot) j--;
        if (i <= j) std::swap(a[i++], a[j--]);
    }
    if (low < j) {
#pragma omp task final(j - low < 16) mergeable
        quicksort(a, low, j);
    }
    if (i < high) {
#pragma omp task
        quicksort(a, i, high);
    }
}

static void tasks() {
    long value = 0;
#pragma omp parallel
#pragma omp single
    value = fibonacci(16);
    std::printf("fibonacci %ld\n", value);

    std::vector<int> numbers(20000);
    unsigned state = 1;
    for (int& number : numbers) number = static_cast<int>((state = state * 1664525u + 1013904223u) >> 8);
#pragma omp parallel
#pragma omp single nowait
    quicksort(numbers.data(), 0, static_cast<int>(numbers.size()) - 1);
    int wrong = 0;
    for (std::size_t i = 1; i < numbers.size(); i++) wrong += numbers[i - 1] > numbers[i];
    std::printf("unsorted %d\n", wrong);
}

static void private_data() {
    Aligned aligned;
    for (int i = 0; i < 9; i++) aligned.values[i] = i;
    const std::string text = "a text that is too long for the short string optimisation";
    long sum = 0;
#pragma omp parallel
#pragma omp single
    for (int k = 0; k < 200; k++) {
#pragma omp task firstprivate(aligned, k) shared(sum) if (k % 3)
        {
            long part = reinterpret_cast<std::size_t>(&aligned) % 64 == 0 ? 0 : 1000000;
            for (const long value : aligned.values) part += value * k;
#pragma omp atomic
            sum += part;
        }
#pragma omp task firstprivate(text, k) shared(sum)
        {
#pragma omp atomic
            sum += static_cast<long>(text.size()) + text[static_cast<std::size_t>(k) % text.size()];
        }
    }
    std::printf("private %ld\n", sum);
}

static void task_loops() {
    long sum = 0, reduced = 0, grouped = 0;
    const std::string text = "twelve chars";
#pragma omp parallel
#pragma omp single
    {
#pragma omp taskloop grainsize(7) shared(sum) firstprivate(text)
        for (int i = 0; i < 1000; i++) {
#pragma omp atomic
            sum += i + static_cast<long>(text.size());
        }
#pragma omp taskloop num_tasks(13) shared(sum) nogroup
        for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 100; i++) {
#pragma omp atomic
            sum += static_cast<long>(i & 255);
        }
#pragma omp taskloop reduction(+ : reduced) grainsize(11)
        for (long i = 1000; i > -1000; i -= 3) reduced += i * i;
#pragma omp taskgroup task_reduction(+ : grouped)
        for (int i = 0; i < 50; i++) {
#pragma omp task in_reduction(+ : grouped)
            grouped += i;
        }
    }
    std::printf("taskloop %ld %ld %ld\n", sum, reduced, grouped);
}

static void dependences() {
    int chain = 0, left = 0, right = 0;
#pragma omp parallel
#pragma omp single
    {
        for (int k = 0; k < 40; k++) {
#pragma omp task depend(inout : chain) shared(chain)
            chain = chain * 3 % 1000 + k;
        }
#pragma omp task depend(out : left) shared(left)
        left = 7;
#pragma omp task depend(out : right) shared(right)
        right = 5;
#pragma omp task depend(in : left, right) shared(left, right, chain) if (0)
        left = left * 10 + right;
#pragma omp taskyield
#pragma omp taskwait
    }
    std::printf("dependences %d %d\n", chain, left);
}

// Not on one thread: libomp 14 stops there with an assertion of its own.
static void detached() {
    long done = 0;
    if (omp_get_max_threads() == 1) done = 190;
#pragma omp parallel if (omp_get_max_threads() > 1)
#pragma omp single
    for (int k = 0; k < 20 && omp_get_num_threads() > 1; k++) {
        omp_event_handle_t event;
#pragma omp task detach(event) firstprivate(k) shared(done)
        {
#pragma omp atomic
            done += k;
            omp_fulfill_event(event);
        }
    }
    std::printf("detached %ld\n", done);
}

template <class Index>
static long loops(Index count) {
    long sum = 0;
    std::vector<long> seen(static_cast<std::size_t>(count));
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for schedule(dynamic)
        for (Index i = 0; i < count; i++) seen[static_cast<std::size_t>(i)] += 1;
#pragma omp for schedule(guided, 3) nowait
        for (Index i = 0; i < count; i++) sum += seen[static_cast<std::size_t>(i)];
#pragma omp barrier
#pragma omp for schedule(runtime)
        for (Index i = 0; i < count; i += 2) sum += static_cast<long>(i);
#pragma omp for schedule(static, 5)
        for (Index i = 0; i < count; i++) sum += 1;
#pragma omp for schedule(monotonic : dynamic, 4)
        for (Index i = 0; i < count; i++) sum += 2;
#pragma omp for schedule(auto)
        for (Index i = 0; i < count; i++) sum += 3;
    }
#pragma omp parallel for schedule(dynamic, 2) reduction(+ : sum)
    for (Index i = 0; i < count; i++) sum += static_cast<long>(i);
#pragma omp parallel for schedule(guided) reduction(+ : sum)
    for (Index i = 0; i < count; i++) sum += static_cast<long>(i);
#pragma omp parallel for schedule(runtime) reduction(+ : sum) collapse(2)
    for (Index i = 0; i < count; i++)
        for (Index j = 0; j < 3; j++) sum += static_cast<long>(i * j);
    return sum;
}

static void ordering() {
    std::vector<int> order;
    std::vector<long> grid(30 * 30);
    double decay = 0;
    int ran = 0;
#pragma omp parallel
    {
#pragma omp for ordered schedule(static, 1)
        for (int i = 0; i < 60; i++) {
#pragma omp ordered
            decay = decay * 0.5 + i;
        }
#pragma omp for ordered schedule(dynamic)
        for (int i = 0; i < 60; i++) {
#pragma omp ordered
            order.push_back(i);
        }
#pragma omp for ordered(2)
        for (int i = 0; i < 30; i++)
            for (int j = 0; j < 30; j++) {
#pragma omp ordered depend(sink : i - 1, j) depend(sink : i, j - 1)
                const long up = i ? grid[static_cast<std::size_t>((i - 1) * 30 + j)] : 1, left = j ? grid[static_cast<std::size_t>(i * 30 + j - 1)] : 1;
                grid[static_cast<std::size_t>(i * 30 + j)] = (up + left) % 1000003;
#pragma omp ordered depend(source)
            }
#pragma omp sections reduction(+ : ran)
        {
#pragma omp section
            ran += 1;
#pragma omp section
            ran += 10;
#pragma omp section
            ran += 100;
        }
        long copied = 0;
#pragma omp single copyprivate(copied)
        copied = 17;
#pragma omp atomic
        total += copied == 17 ? 0 : 1;
    }
#pragma omp parallel sections
    {
#pragma omp section
        ran += 1000;
    }
    std::printf("ordered %.6f %ld %ld %d %ld\n", decay, std::accumulate(order.begin(), order.end(), 0l), grid.back(), ran, total);
}

static void locks() {
    omp_lock_t lock;
    omp_nest_lock_t nestable;
    omp_init_lock(&lock);
    omp_init_nest_lock(&nestable);
    long a = 0, b = 0, c = 0, d = 0;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 400; i++) {
#pragma omp critical
        a += i;
#pragma omp critical(second)
        b += i;
        omp_set_lock(&lock);
        c += i;
        omp_unset_lock(&lock);
        while (!omp_test_lock(&lock)) {
        }
        c += i;
        omp_unset_lock(&lock);
        omp_set_nest_lock(&nestable);
        omp_set_nest_lock(&nestable);
        d += i;
        omp_unset_nest_lock(&nestable);
        omp_unset_nest_lock(&nestable);
    }
    omp_destroy_lock(&lock);
    omp_destroy_nest_lock(&nestable);
    std::printf("locks %ld %ld %ld %ld\n", a, b, c, d);
}

static void nested() {
    long inner = 0, outer = 0;
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2) reduction(+ : outer)
    {
        for (int k = 0; k < 5; k++) {
#pragma omp parallel for num_threads(2) reduction(+ : outer) schedule(dynamic)
            for (int i = 0; i < 100; i++) {
                outer += i;
#pragma omp critical
                inner++;
            }
        }
#pragma omp barrier
#pragma omp critical
        outer += 1;
    }
    omp_set_max_active_levels(1);
    long serial = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp parallel reduction(+ : serial)
#pragma omp single
        for (int i = 0; i < 10; i++) {
#pragma omp task shared(serial)
            {
#pragma omp atomic
                serial += i;
            }
        }
    }
    std::printf("nested %ld %ld %s\n", inner, outer, serial % 45 == 0 ? "whole" : "torn");
}

static void cancelling() {
    long found = 0;
#pragma omp parallel
    {
#pragma omp for
        for (int i = 0; i < 1000; i++) {
            if (i == 500) {
#pragma omp atomic write
                found = i;
#pragma omp cancel for
            }
#pragma omp cancellation point for
        }
    }
#pragma omp parallel if (0)
    found += omp_get_num_threads();
    std::printf("cancelled %ld\n", found);
}

int main() {
    tasks();
    private_data();
    task_loops();
    dependences();
    detached();
    std::printf("loops %ld %ld %ld\n", loops<int>(300), loops<long>(300), loops<unsigned long long>(300));
    ordering();
    locks();
    nested();
    cancelling();
    long again = 0;
    for (int i = 0; i < 300; i++) {
#pragma omp parallel reduction(+ : again)
#pragma omp for
        for (int k = 0; k < 16; k++) again += k;
    }
    std::printf("again %ld\n", again);
}
