"""The 15 machines of the paper's Table 4, with approximate values from public data sheets and common measurements."""

from __future__ import annotations

from benchmarks.simulator.hardware import ALL_COUNTERS, Core, Hardware

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
INTEL, AMD, ARM = "Intel", "AMD", "ARM"
X86, ARM64, ARM32 = "x86_64", "aarch64", "armv7l"

WITHOUT_LLC = tuple(name for name in ALL_COUNTERS if not name.startswith("LLC"))
WITHOUT_STORES = tuple(name for name in ALL_COUNTERS if not name.endswith(("ST", "STM")))

WESTMERE = Core("Westmere", INTEL, X86, 4, True, 128, 17, 1.5, 10, 32 * KIB, 10, 40, 35, shared_issue=1.18)
SANDY_BRIDGE = Core("Sandy Bridge", INTEL, X86, 4, True, 192, 16, 1.25, 10, 32 * KIB, 12, 32, 32, shared_issue=1.22)
IVY_BRIDGE = Core("Ivy Bridge", INTEL, X86, 4, True, 192, 15, 1.2, 10, 32 * KIB, 12, 28, 28, shared_issue=1.22)
HASWELL = Core("Haswell", INTEL, X86, 4.4, True, 256, 15, 1.05, 10, 32 * KIB, 11, 36, 30, shared_issue=1.25)
KABY_LAKE = Core("Kaby Lake", INTEL, X86, 4.8, True, 256, 15, 1.0, 12, 32 * KIB, 11, 38, 26, shared_issue=1.27)
COFFEE_LAKE = Core("Coffee Lake", INTEL, X86, 4.8, True, 256, 15, 1.0, 12, 32 * KIB, 11, 40, 26, shared_issue=1.27)
SKYLAKE = Core("Skylake", INTEL, X86, 4.8, True, 384, 16, 1.0, 12, 32 * KIB, 14, 60, 45, shared_issue=1.27)
K10 = Core(
    *("K10", AMD, X86, 3, True, 128, 12, 1.7, 8, 64 * KIB, 15, 48, 60),
    instruction_factor=1.02,
    counters=WITHOUT_LLC,
    multiplexes=True,
)
BULLDOZER = Core(
    *("Bulldozer", AMD, X86, 3.2, True, 128, 20, 1.5, 8, 16 * KIB, 21, 65, 70),
    shared_issue=1.6,
    instruction_factor=1.02,
    multiplexes=True,
)
CORTEX_A53 = Core(
    *("ARMv8 Cortex-A53", ARM, ARM64, 2, False, 64, 8, 2.0, 3, 32 * KIB, 15, 0, 60),
    instruction_factor=1.08,
    counters=WITHOUT_STORES,
)
CORTEX_A15 = Core(
    *("ARMv7 Cortex-A15", ARM, ARM32, 3, True, 128, 15, 1.5, 6, 32 * KIB, 21, 0, 70),
    instruction_factor=1.28,
    word_bits=32,
)
CORTEX_A7 = Core(
    *("ARMv7 Cortex-A7", ARM, ARM32, 1.6, False, 64, 8, 2.2, 2, 32 * KIB, 12, 0, 110),
    instruction_factor=1.30,
    word_bits=32,
    counters=("INSTR", "BR", "BR-M", "L1-LD", "L1-ST", "L1-LDM"),
)


def _server(name: str, core: Core, clocks_mhz: tuple[int, int, int], **values: object) -> Hardware:
    return _machine(name, core, clocks_mhz, "server", {"kernel_share": 0.015, "noise": 0.008} | values)


def _desktop(name: str, core: Core, clocks_mhz: tuple[int, int, int], **values: object) -> Hardware:
    single = {"sockets": 1, "nodes": 1, "kernel_share": 0.025, "noise": 0.006, "l2_bytes": 256 * KIB}
    return _machine(name, core, clocks_mhz, "desktop", single | values)


def _embedded(name: str, core: Core, clock_mhz: int, **values: object) -> Hardware:
    single = {"sockets": 1, "nodes": 1, "node_cores": 4, "l2_cores": 4, "l3_bytes": 0, "noise": 0.012}
    return _machine(name, core, (clock_mhz,) * 3, "embedded", single | values)


def _machine(
    name: str, core: Core, clocks_mhz: tuple[int, int, int], device_class: str, values: dict[str, object]
) -> Hardware:
    """Return a machine. `clocks_mhz` are the base clock and the clocks with one core busy and with all cores busy."""
    base, highest, all_cores = clocks_mhz
    maker = "" if core.vendor == ARM else f"{core.vendor} "
    return Hardware(
        name=name,
        cpu_model=maker + name,
        device_class=device_class,
        core=core,
        base_mhz=base,
        max_mhz=highest,
        all_cores_mhz=all_cores,
        **values,  # type: ignore[arg-type]
    )


HARDWARE: tuple[Hardware, ...] = (
    _server(
        *("Xeon Gold 6148", SKYLAKE, (2400, 3700, 3100)),
        sockets=2, nodes=2, node_cores=20, smt=2, l2_bytes=MIB, l3_bytes=28160 * KIB, memory_bytes=192 * GIB,
        node_bandwidth=98.0, memory_ns=89.0, remote_ns=55.0, link_bandwidth=34.0, remote_handover_ns=110.0
    ),
    _server(
        *("Xeon E5-2630 v3", HASWELL, (2400, 3200, 2600)),
        sockets=2, nodes=2, node_cores=8, smt=2, l2_bytes=256 * KIB, l3_bytes=20 * MIB, memory_bytes=64 * GIB,
        node_bandwidth=46.0, memory_ns=92.0, remote_ns=45.0, link_bandwidth=22.0, remote_handover_ns=95.0
    ),
    _server(
        *("Xeon E5-2680", SANDY_BRIDGE, (2700, 3500, 3100)),
        sockets=2, nodes=2, node_cores=8, smt=2, l2_bytes=256 * KIB, l3_bytes=20 * MIB, memory_bytes=64 * GIB,
        node_bandwidth=39.0, memory_ns=82.0, remote_ns=50.0, link_bandwidth=18.0, remote_handover_ns=100.0
    ),
    _server(
        *("Opteron 6220", BULLDOZER, (3000, 3600, 3300)),
        sockets=2, nodes=4, node_cores=4, l2_bytes=2 * MIB, l2_cores=2, module_cores=2, l3_bytes=8 * MIB,
        memory_bytes=64 * GIB, node_bandwidth=17.0, memory_ns=100.0, remote_ns=60.0, link_bandwidth=7.0,
        remote_handover_ns=150.0, wake_ns=2500.0
    ),
    _server(
        *("Opteron 6172", K10, (2100, 2100, 2100)),
        sockets=2, nodes=4, node_cores=6, l2_bytes=512 * KIB, l3_bytes=6 * MIB, memory_bytes=64 * GIB,
        node_bandwidth=15.0, memory_ns=105.0, remote_ns=65.0, link_bandwidth=6.0, remote_handover_ns=140.0,
        wake_ns=3000.0
    ),
    _server(
        *("Xeon E5620", WESTMERE, (2400, 2660, 2530)),
        sockets=2, nodes=2, node_cores=4, smt=2, l2_bytes=256 * KIB, l3_bytes=12 * MIB, memory_bytes=24 * GIB,
        node_bandwidth=18.0, memory_ns=75.0, remote_ns=45.0, link_bandwidth=10.0, remote_handover_ns=90.0,
        wake_ns=2000.0
    ),
    _desktop(
        *("i9-9900K", COFFEE_LAKE, (3600, 5000, 4700)),
        node_cores=8, smt=2, l3_bytes=16 * MIB, memory_bytes=32 * GIB, node_bandwidth=34.0, memory_ns=60.0
    ),
    _desktop(
        *("i5-8500T", COFFEE_LAKE, (2100, 3500, 2900)),
        node_cores=6, l3_bytes=9 * MIB, memory_bytes=16 * GIB, node_bandwidth=33.0, memory_ns=66.0
    ),
    _desktop(
        *("i7-8550U", KABY_LAKE, (1800, 4000, 2700)),
        node_cores=4, smt=2, l3_bytes=8 * MIB, memory_bytes=16 * GIB, node_bandwidth=29.0, memory_ns=78.0, noise=0.012
    ),
    _desktop(
        *("i5-7300HQ", KABY_LAKE, (2500, 3500, 3100)),
        node_cores=4, l3_bytes=6 * MIB, memory_bytes=8 * GIB, node_bandwidth=30.0, memory_ns=68.0
    ),
    _desktop(
        *("i7-4771", HASWELL, (3500, 3900, 3700)),
        node_cores=4, smt=2, l3_bytes=8 * MIB, memory_bytes=16 * GIB, node_bandwidth=21.0, memory_ns=64.0
    ),
    _desktop(
        *("i7-3667U", IVY_BRIDGE, (2000, 3200, 3000)),
        node_cores=2, smt=2, l3_bytes=4 * MIB, memory_bytes=8 * GIB, node_bandwidth=19.0, memory_ns=76.0, noise=0.012
    ),
    _embedded(
        *("A53 (S905)", CORTEX_A53, 1500),
        l2_bytes=512 * KIB, memory_bytes=2 * GIB, node_bandwidth=4.2, memory_ns=140.0, wake_ns=9000.0,
        spawn_ns=500.0, kernel_share=0.05
    ),
    _embedded(
        *("A15 (Exynos 5422)", CORTEX_A15, 2000),
        l2_bytes=2 * MIB, memory_bytes=2 * GIB, node_bandwidth=6.5, memory_ns=150.0, wake_ns=8000.0,
        spawn_ns=450.0, kernel_share=0.10
    ),
    _embedded(
        *("A7 (BCM2836)", CORTEX_A7, 900),
        l2_bytes=512 * KIB, memory_bytes=GIB, node_bandwidth=1.7, memory_ns=190.0, wake_ns=16000.0,
        spawn_ns=900.0, kernel_share=0.06
    ),
)  # fmt: skip


def find_hardware(name: str) -> Hardware:
    """Return the machine with this name, with or without "(simulated)". Raise KeyError for another name.

    >>> find_hardware("i7-4771 (simulated)").threads
    8
    """
    for hardware in HARDWARE:
        if name in (hardware.name, hardware.record().name):
            return hardware
    raise KeyError(name)
