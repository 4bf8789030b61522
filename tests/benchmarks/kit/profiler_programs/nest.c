/* A loop nest: matrix multiplication and a stencil, each in a parallel loop of its own. */
#include <stdio.h>

enum { size = 160 };
static double a[size][size], b[size][size], c[size][size];

static void multiply(void) {
#pragma omp parallel for collapse(2) schedule(static)
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) {
            double sum = 0;
            for (int k = 0; k < size; k++) sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

static void smooth(int rounds) {
    for (int round = 0; round < rounds; round++) {
#pragma omp parallel for schedule(dynamic, 4)
        for (int i = 1; i < size - 1; i++)
            for (int j = 1; j < size - 1; j++) b[i][j] = (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] + a[i][j + 1]) / 4;
    }
}

int main(void) {
    for (int i = 0; i < size; i++)
        for (int j = 0; j < size; j++) a[i][j] = b[i][j] = i ^ j;
    smooth(200);
    multiply();
    printf("%.0f\n", c[size / 2][size / 2]);
    return 0;
}
