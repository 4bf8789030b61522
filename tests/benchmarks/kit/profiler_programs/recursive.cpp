// Recursive tasks: all ways to put queens on a board, one task a placement in the first rows.
#include <cstdio>

static long solve(int size, int row, unsigned columns, unsigned left, unsigned right) {
    if (row == size) return 1;
    long found = 0;
    for (int column = 0; column < size; column++) {
        const unsigned bit = 1u << column;
        if ((columns | left | right) & bit) continue;
        const auto next = [=] { return solve(size, row + 1, columns | bit, (left | bit) << 1, (right | bit) >> 1); };
        if (row < 3) {
#pragma omp task shared(found) firstprivate(next)
            {
                const long part = next();
#pragma omp atomic
                found += part;
            }
        } else {
            found += next();
        }
    }
    if (row < 3) {
#pragma omp taskwait
    }
    return found;
}

int main() {
    long found = 0;
#pragma omp parallel
#pragma omp single
    found = solve(10, 0, 0, 0, 0);
    std::printf("%ld\n", found);
}
