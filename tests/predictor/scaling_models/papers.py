"""Tables of the papers, and the numbers that their text gives for them. Times are in seconds."""

import numpy as np

# papers/004 (Lobachev, Guthe, Loogen: Estimating parallel performance), Figure 1: Gauss elimination, T(n) and T(n, 8).
GAUSS_SIZE = np.array([10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150.0])
GAUSS_1 = np.array([0.02, 0.13, 0.39, 0.82, 1.48, 2.44, 3.76, 5.50, 8.07, 11.03, 19.14, 38.36])
GAUSS_8 = np.array([0.02, 0.06, 0.14, 0.29, 0.51, 0.79, 1.18, 1.75, 2.39, 3.48, 5.74, 10.55])

# papers/004, Figure 4: LBM on Blue Gene/P.
LBM_P = np.array([32768, 65536, 98304, 131072, 196608, 262144, 294912.0])
LBM = np.array([16.285, 9.99, 6.82, 6.80, 5.284, 5.273, 3.675])

# papers/004, Figure 7: Karatsuba multiplication, T(n) and T(n, 8).
KARATSUBA_SIZE = 1000.0 * np.array([16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60, 64])
KARATSUBA_1 = np.array([9.88, 13.86, 20.27, 24.78, 29.58, 34.83, 41.42, 53.58, 60.94, 67.55, 74.39, 82.02, 88.94])
KARATSUBA_8 = np.array([1.29, 1.78, 2.61, 3.19, 3.74, 4.47, 5.37, 7.14, 8.05, 8.98, 9.95, 11.0, 11.86])
KARATSUBA_WIDE_SIZE = 1000.0 * np.array([0.5, 1, 2, 4, 8, 16, 32, 64, 128])
KARATSUBA_WIDE_1 = np.array([0.11, 0.19, 0.41, 1.10, 3.30, 9.87, 29.54, 89.22, 267.25])
KARATSUBA_WIDE_8 = np.array([0.0654, 0.0818, 0.129, 0.222, 0.47, 1.28, 3.74, 11.86, 36.66])

# papers/004, Figure 9: Rabin-Miller test, T(n, 1) and T(n, 8).
RABIN_MILLER_SIZE = np.array([2203, 2281, 3217, 4253, 4423, 9689, 11213.0])
RABIN_MILLER_1 = np.array([1.882, 2.094, 5.284, 10.77, 12.16, 96.95, 144.82])
RABIN_MILLER_8 = np.array([0.304, 0.334, 0.812, 1.635, 1.843, 14.66, 21.78])

# papers/004, Figure 11: Rabin-Miller test on 48 cores; (a) n = 11213, (b) n = 19937, p = 1..48.
RABIN_MILLER_FEW_P = np.array([1, 12, 16, 24, 32, 48.0])
RABIN_MILLER_FEW = np.array([128.90, 11.30, 8.83, 5.87, 4.66, 3.29])
RABIN_MILLER_ALL = np.array(
    [
        *(560.74, 282.29, 189.37, 142.97, 120.06, 98.14, 87.07, 77.28, 74.67, 60.98, 54.99, 50.90),
        *(49.15, 43.26, 44.93, 39.80, 38.00, 37.04, 37.00, 31.56, 31.18, 31.25, 31.24, 25.71),
        *(25.19, 25.21, 25.85, 25.19, 25.51, 25.13, 25.08, 22.28, 19.24, 19.25, 19.41, 19.26),
        *(19.98, 19.26, 19.38, 19.18, 19.16, 19.25, 19.15, 19.16, 19.18, 19.23, 19.22, 13.53),
    ]
)

# papers/004, Figure 14: APRCL test, sizes 600..619, T(n, 1) and T(n, 8).
APRCL_SIZE = np.arange(600.0, 620.0)
APRCL_1 = np.array(
    [
        *(15.19, 15.07, 15.18, 15.25, 15.16, 15.27, 15.25, 15.21, 15.29, 15.44),
        *(15.52, 15.44, 15.00, 15.48, 15.33, 15.51, 15.39, 15.44, 15.60, 15.73),
    ]
)
APRCL_8 = np.array(
    [
        *(2.59, 2.58, 2.66, 2.62, 2.68, 2.60, 2.55, 2.59, 2.58, 2.62),
        *(2.76, 2.66, 2.53, 2.71, 2.59, 2.65, 2.59, 2.69, 2.64, 2.78),
    ]
)

# papers/004, Figure 17: the linear solver of Gondzio and Sarkissian.
SOLVER_P = np.array([1, 2, 4, 8, 16.0])
SOLVER = np.array([3899, 1947, 1003, 538, 333.0])

# papers/004, Figure 18c: penalty and 100 x serial fraction of the Rabin-Miller test, n = 9689, p = 2..8.
SERIAL_FRACTION_P = np.arange(2.0, 9.0)
SERIAL_FRACTION_PENALTY = np.array([0.0844, 1.796, 0.0731, 0.1433, 3.30, 0.7793, 2.5442])
SERIAL_FRACTION_PERCENT = np.array([0.1741, 2.779, 0.1005, 0.1847, 4.084, 0.9379, 2.9992])

# papers/003 (Furtunato et al.: When parallel speedups hit the memory wall), Table 1: f, k, m1, m2.
MEMORY_WALL = {
    "parsec-blackscholes": (0.7642, 9.9264, 0.0003, 0.8761),
    "parsec-bodytrack": (0.8984, 9.7185, 0.0090, 0.0000),
    "parsec-canneal": (0.9946, 0.4341, 0.0057, 0.8562),
    "parsec-dedup": (0.7387, 0.1545, 0.3210, 0.0000),
    "parsec-facesim": (0.9745, 0.0950, 0.0507, 0.5482),
    "parsec-ferret": (0.9952, 0.2348, 0.0368, 0.1610),
    "parsec-fluidanimate": (0.9954, 0.0064, 0.0174, 0.9712),
    "parsec-freqmine": (0.9907, 0.0050, 0.0294, 0.8209),
    "parsec-raytrace": (0.9155, 9.9798, 0.0039, 0.7814),
    "parsec-streamcluster": (0.9864, 4.7217, 0.0061, 0.0024),
    "parsec-x264": (0.9771, 1.6662, 0.0087, 0.2638),
    "splash2x-barnes": (0.8320, 4.6578, 0.0029, 1.0000),
    "splash2x-cholesky": (0.9273, 0.1274, 0.1301, 0.0000),
    "splash2x-fft": (0.9755, 9.9984, 0.0013, 0.7153),
    "splash2x-fmm": (0.8785, 9.9976, 0.0261, 0.6269),
    "splash2x-lu-cb": (0.7302, 9.9672, 0.0049, 0.9257),
    "splash2x-lu-ncb": (0.9657, 3.3786, 0.0154, 0.0001),
    "splash2x-ocean-cp": (0.9256, 9.9994, 0.0093, 0.2050),
    "splash2x-ocean-ncp": (0.9244, 9.1902, 0.0027, 0.3123),
    "splash2x-radiosity": (0.9674, 0.1199, 0.0940, 0.0429),
    "splash2x-radix": (0.9965, 0.0321, 0.0591, 0.0609),
    "splash2x-raytrace": (0.9520, 1.1918, 0.0040, 0.9179),
    "splash2x-volrend": (0.7901, 8.8634, 0.1827, 1.0000),
    "splash2x-water-nsquared": (0.8800, 3.9348, 0.0103, 1.0000),
    "splash2x-water-spatial": (0.9947, 1.7165, 0.0022, 0.2811),
}
MEMORY_WALL_MHZ = np.arange(1200.0, 2501.0, 100.0)  # Section 4.1: 14 clocks, 24 cores, memory at a fixed clock
