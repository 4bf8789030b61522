// Constructs whose accounts several threads touch, with a result that is known. Several of the program's own threads start
// regions at the same time, and inner regions use threads that had a seat in other teams before.
#include <omp.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace {

constexpr int size = 200;

long loops() {
    long sum = 0;
#pragma omp parallel reduction(+ : sum)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < size; i++) sum += i;
#pragma omp for schedule(dynamic, 7)
        for (int i = 0; i < size; i++) sum += i;
#pragma omp for schedule(guided) nowait
        for (int i = 0; i < size; i++) sum += i;
#pragma omp barrier
#pragma omp single
        sum += 1;
#pragma omp sections
        {
#pragma omp section
            sum += 2;
#pragma omp section
            sum += 3;
        }
    }
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
    for (int i = 0; i < size; i++) sum += i;
#pragma omp parallel for schedule(guided) reduction(+ : sum)
    for (int i = 0; i < size; i++) sum += i;
    return sum - 6;  // 5 * 19900
}

long fibonacci(int n) {
    if (n < 2) return n;
    long left = 0, right = 0;
#pragma omp task shared(left) if (n > 4)
    left = fibonacci(n - 1);
#pragma omp task shared(right)
    right = fibonacci(n - 2);
#pragma omp taskwait
    return left + right;
}

long tasks() {
    long result = 0, group = 0;
#pragma omp parallel
    {
#pragma omp single
        result = fibonacci(10);  // 55
#pragma omp single
        {
#pragma omp taskgroup
            for (int i = 0; i < 20; i++) {
#pragma omp task shared(group)
#pragma omp atomic
                group += i;  // 190
            }
        }
#pragma omp task shared(group)
#pragma omp atomic
        group += 0;  // left to the region's end
    }
    return result + group;
}

long locks() {
    long plain = 0, named = 0, locked = 0;
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel for
    for (int i = 0; i < size; i++) {
#pragma omp critical
        plain++;
#pragma omp critical(name)
        named++;
        omp_set_lock(&lock);
        locked++;
        omp_unset_lock(&lock);
    }
    omp_destroy_lock(&lock);
    return plain + named + locked;  // 600
}

long nested() {
    long sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < 4; i++) {
        long inner = 0;
#pragma omp parallel for reduction(+ : inner) num_threads(3)
        for (int j = 0; j < 10; j++) {
#pragma omp critical
            inner += j;
        }
        sum += inner;
    }
    return sum;  // 180
}

}  // namespace

int main() {
    std::vector<long> results(3);
    for (int round = 0; round < 5; round++) {
        std::vector<std::thread> masters;
        for (long& result : results) {
            masters.emplace_back([&result] { result += loops() + tasks() + locks() + nested(); });
        }
        for (std::thread& master : masters) master.join();
    }
    for (const long result : results) std::printf("%ld\n", result);
    std::printf("expected %ld\n", 5L * (5 * 19900 + 55 + 190 + 600 + 180));
}
