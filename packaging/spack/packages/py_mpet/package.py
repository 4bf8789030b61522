"""The client. `spack repo add packaging/spack`, `spack install --no-checksum py-mpet`."""

from spack.package import depends_on, license, version
from spack_repo.builtin.build_systems.python import PythonPackage


class PyMpet(PythonPackage):
    """Measure parallel programs, and predict how they run on other machines."""

    pypi = "mpet/mpet-1.0.0.tar.gz"

    license("Apache-2.0")

    version("1.0.0")

    depends_on("python@3.9:", type=("build", "run"))
    depends_on("py-hatchling@1.24:", type="build")
    depends_on("py-httpx@0.25:", type=("build", "run"))
    depends_on("py-platformdirs@3:", type=("build", "run"))
    depends_on("py-rich@12:", type=("build", "run"))
    depends_on("py-typer@0.12:", type=("build", "run"))
