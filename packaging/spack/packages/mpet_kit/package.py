"""The benchmark kit, as sources that `mpet-kit` compiles for the machine that is measured."""

from spack.package import depends_on, license, version, which
from spack_repo.builtin.build_systems.generic import Package


class MpetKit(Package):
    """Parallel workloads that measure a Linux machine for MPET."""

    url = "https://files.pythonhosted.org/packages/source/m/mpet-server/mpet_server-1.0.0.tar.gz"

    license("Apache-2.0")

    version("1.0.0")

    depends_on("cxx", type=("build", "run"))
    depends_on("gmake", type="run")
    depends_on("curl", type="run")

    def install(self, spec, prefix):
        which("sh")("packaging/kit/install.sh", prefix)
