"""Sample machines: folders with the files of /sys and /proc that the kit reads."""

from dataclasses import dataclass, field
from pathlib import Path

KIB = 1024
XEON = "Intel(R) Xeon(R) CPU E5-2630 v3 @ 2.40GHz"


@dataclass(frozen=True)
class Cpu:
    id: int
    package: int = 0
    node: int = 0
    siblings: tuple[int, ...] = ()
    capacity: int | None = None
    max_khz: int | None = None
    cpuinfo: dict[str, str] = field(default_factory=dict)

    @property
    def core(self) -> tuple[int, ...]:
        return self.siblings or (self.id,)


@dataclass(frozen=True)
class Machine:
    cpus: list[Cpu]
    architecture: str = "x86_64"
    allowed: str | None = None
    has_nodes: bool = True
    l3_shared_by_node: bool = False
    files: dict[str, str] = field(default_factory=dict)  # additional files by path

    def write(self, root: Path) -> Path:
        for path, content in (self.everything() | self.files).items():
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content + "\n")
        return root

    def everything(self) -> dict[str, str]:
        ids = listed([cpu.id for cpu in self.cpus])
        files = {
            "sys/devices/system/cpu/online": ids,
            "proc/self/status": f"Name:\tmake\nCpus_allowed:\tff\nCpus_allowed_list:\t{self.allowed or ids}",
            "proc/self/cgroup": "0::/",
            "proc/meminfo": "MemTotal:       65700000 kB\nMemFree:         1000 kB",
            "proc/sys/kernel/arch": self.architecture,
            "proc/sys/kernel/osrelease": "6.1.0-test",
            "proc/cpuinfo": "\n\n".join(cpuinfo(cpu) for cpu in self.cpus),
        }
        for cpu in self.cpus:
            files |= self.cpu_files(cpu)
        for node in sorted({cpu.node for cpu in self.cpus}) if self.has_nodes else []:
            files[f"sys/devices/system/node/node{node}/cpulist"] = listed(self.on_node(node))
        return files

    def on_node(self, node: int) -> list[int]:
        return [cpu.id for cpu in self.cpus if cpu.node == node]

    def cpu_files(self, cpu: Cpu) -> dict[str, str]:
        folder = f"sys/devices/system/cpu/cpu{cpu.id}"
        package = [c.id for c in self.cpus if c.package == cpu.package]
        whole = self.on_node(cpu.node) if self.l3_shared_by_node else package
        files = {
            f"{folder}/topology/physical_package_id": str(cpu.package),
            f"{folder}/topology/thread_siblings_list": listed(list(cpu.core)),
        }
        l1, l2, l3 = "32K", "256K", "20480K"
        caches = [("1", "Data", l1), ("1", "Instruction", l1), ("2", "Unified", l2), ("3", "Unified", l3)]
        for index, (level, kind, size) in enumerate(caches):
            shared = listed(whole if level == "3" else list(cpu.core))
            fields = {"level": level, "type": kind, "size": size, "shared_cpu_list": shared}
            files |= {f"{folder}/cache/index{index}/{name}": text for name, text in fields.items()}
        if cpu.capacity is not None:
            files[f"{folder}/cpu_capacity"] = str(cpu.capacity)
        if cpu.max_khz is not None:
            files[f"{folder}/cpufreq/cpuinfo_max_freq"] = str(cpu.max_khz)
        return files


def listed(numbers: list[int]) -> str:
    """Format numbers as the kernel's lists, with ranges for consecutive numbers."""
    pieces: list[list[int]] = []
    for number in sorted(numbers):
        if pieces and pieces[-1][-1] == number - 1:
            pieces[-1] = [pieces[-1][0], number]
        else:
            pieces.append([number])
    return ",".join("-".join(str(end) for end in piece) for piece in pieces)


def cpuinfo(cpu: Cpu) -> str:
    fields = {"processor": str(cpu.id)} | (
        cpu.cpuinfo or {"vendor_id": "GenuineIntel", "model name": XEON, "flags": "fpu vme sse2"}
    )
    return "\n".join(f"{name}\t: {value}" for name, value in fields.items())


def xeon_split(**settings: object) -> Machine:
    """Return two sockets of eight cores with two threads each; sibling numbers differ by 16, as on most Xeons."""
    cpus = [Cpu(i, (i % 16) // 8, (i % 16) // 8, (i % 16, i % 16 + 16), max_khz=3200000) for i in range(32)]
    return Machine(cpus, **settings)  # type: ignore[arg-type]


def xeon_adjacent() -> Machine:
    """Return the same machine with consecutive numbers for siblings, as often on cloud machines."""
    return Machine([Cpu(i, i // 16, i // 16, (i // 2 * 2, i // 2 * 2 + 1)) for i in range(32)])


def desktop_without_smt() -> Machine:
    fields = {"vendor_id": "GenuineIntel", "model name": "Intel(R) Core(TM) i5-9400 CPU @ 2.90GHz"}
    return Machine([Cpu(i, cpuinfo=fields) for i in range(6)])


def big_little() -> Machine:
    """Return four slow cores followed by four fast ones. This ARM kernel reports package -1 and no NUMA nodes."""
    small, large = {"CPU implementer": "0x41", "CPU part": "0xd03"}, {"CPU implementer": "0x41", "CPU part": "0xd09"}
    kinds = [(430, 1800000, small)] * 4 + [(1024, 2400000, large)] * 4
    cpus = [Cpu(i, -1, capacity=c, max_khz=khz, cpuinfo=fields) for i, (c, khz, fields) in enumerate(kinds)]
    return Machine(cpus, "aarch64", has_nodes=False, files={"proc/device-tree/model": "A Board\0"})


def epyc() -> Machine:
    """Return two sockets, each with 32 cores in four NUMA nodes, and two threads per core."""
    name = {"vendor_id": "AuthenticAMD", "model name": "AMD EPYC 7601 32-Core Processor", "cpu MHz": "2195.872"}
    cpus = [Cpu(i, (i % 64) // 32, (i % 64) // 8, (i % 64, i % 64 + 64), cpuinfo=name) for i in range(128)]
    return Machine(cpus, l3_shared_by_node=True)
