// A function's name as its source has it, from the symbol that the compiler made of it.
#pragma once

#include <string>

namespace mpet::profiler {

// A name that clang gives to the body of a region or a task, which does not say whose it is: .omp_outlined..1
bool is_outlined(const std::string& symbol);

bool is_fortran_file(const std::string& path);

// C++ without types and compilers' suffixes, Fortran as module::procedure, Cython as package.module.function. `file` is
// where the function is, "" = not known.
std::string name_in_source(const std::string& symbol, const std::string& file, bool is_fortran);

}  // namespace mpet::profiler
