#include "source_names.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

namespace mpet::profiler {

namespace {

bool begins_with(const std::string& text, const std::string& begin) { return text.compare(0, begin.size(), begin) == 0; }

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::size_t count_digits(const std::string& text, std::size_t from) {
    std::size_t end = from;
    while (end < text.size() && is_digit(text[end])) end++;
    return end - from;
}

std::string joined(const std::vector<std::string>& parts, const char* between) {
    std::string all;
    for (const std::string& part : parts) all += (all.empty() ? "" : between) + part;
    return all;
}

// ---- C and C++

std::string demangled(const std::string& symbol) {
    int status = 0;
    char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    const std::string name = status == 0 && text != nullptr ? text : symbol;
    std::free(text);
    return name;
}

// Removes compilers' suffixes for parts of a function: kernel._omp_fn.0, kernel.constprop.0, kernel.omp_outlined,
// _QPkernel..omp_par
std::string without_suffix(const std::string& symbol) {
    for (const char* suffix : {"._omp_fn", "..omp_par", ".omp_outlined", ".constprop", ".isra", ".part", ".cold", ".lto_priv"}) {
        const std::size_t at = symbol.find(suffix);
        if (at != std::string::npos && at > 0) return without_suffix(symbol.substr(0, at));
    }
    return symbol;
}

void replace(std::string& text, const std::string& old, const std::string& with) {
    for (std::size_t at = text.find(old); at != std::string::npos; at = text.find(old, at + with.size())) text.replace(at, old.size(), with);
}

// Removes types: long space::kernel<int>(long, double const*) [clone ._omp_fn.0] -> space::kernel<int>
std::string without_types(std::string function) {
    replace(function, "(anonymous namespace)", "{anonymous}");
    std::size_t begin = 0, i = 0;
    for (int depth = 0; i < function.size(); i++) {
        const bool is_call_operator = i >= 8 && function.compare(i - 8, 10, "operator()") == 0;
        if (function[i] == '<' || function[i] == '{') depth++;
        if (function[i] == '>' || function[i] == '}') depth--;
        if (is_call_operator) i++;
        else if (depth == 0 && function[i] == '(') break;
        else if (depth == 0 && function[i] == ' ') begin = i + 1;
    }
    return function.substr(begin, i - begin);
}

// Returns the function of a target region on the host: __omp_offloading_fe00_3c0020_kernel_l21 -> kernel
std::string without_offloading(const std::string& symbol) {
    const std::string begin = "__omp_offloading_";
    if (!begins_with(symbol, begin)) return symbol;
    const std::size_t file = symbol.find('_', begin.size());
    const std::size_t function = file == std::string::npos ? file : symbol.find('_', file + 1);
    const std::size_t line = symbol.rfind("_l");
    if (function == std::string::npos || line <= function || !is_digit(symbol[line + 2])) return symbol;
    return symbol.substr(function + 1, line - function - 1);
}

// ---- Fortran

// Decodes gfortran's __heat_MOD_step, and flang's mangling, in which a capital letter gives the kind of each name:
// _QMheatPstep, _QMheatFstepPinner, _QQmain. Returns "" for other symbols.
std::string fortran_procedure(const std::string& symbol) {
    if (symbol == "MAIN__" || symbol == "_QQmain") return "main";
    const std::size_t module = symbol.find("_MOD_");
    if (begins_with(symbol, "__") && module != std::string::npos && module > 2) return symbol.substr(2, module - 2) + "::" + symbol.substr(module + 5);
    if (!begins_with(symbol, "_Q") || symbol.size() < 4) return "";
    std::vector<std::string> names;
    for (std::size_t i = 2; i < symbol.size();) {
        if (std::string("MSFP").find(symbol[i]) == std::string::npos) return "";
        const std::size_t begin = ++i;
        while (i < symbol.size() && std::isupper(static_cast<unsigned char>(symbol[i])) == 0) i++;
        if (i == begin) return "";
        names.push_back(symbol.substr(begin, i - begin));
    }
    return joined(names, "::");
}

// Removes Fortran's marks: smooth_, heat_mp_step_ (ifort), inner.0 (gfortran's internal procedures).
std::string without_fortran_marks(std::string name) {
    const std::size_t dot = name.rfind('.');
    if (dot != std::string::npos && dot > 0 && dot + 1 < name.size() && count_digits(name, dot + 1) == name.size() - dot - 1) name.resize(dot);
    if (name.size() > 1 && name.back() == '_') name.pop_back();
    const std::size_t module = name.find("_mp_");
    return module == std::string::npos || module == 0 ? name : name.substr(0, module) + "::" + name.substr(module + 4);
}

// ---- Cython

void remove_fused(std::string& text) {
    const std::string fused = "__pyx_fuse_";
    if (begins_with(text, fused)) text.erase(0, fused.size() + count_digits(text, fused.size()));
}

// Decodes Cython's names. __pyx_f_ is a C function, __pyx_pf_ and __pyx_pw_ are the body and the wrapper of a Python
// function. Package, module and class follow, each after its length, and for Python functions a number:
// __pyx_pw_7sklearn_7cluster_14_k_means_lloyd_7lloyd is sklearn.cluster._k_means_lloyd.lloyd. A number that could also
// be a length is such a number if another number, a capital letter or the name of the file shows it. Returns "" for
// other names.
std::string cython_function(std::string rest, const std::string& file) {
    remove_fused(rest);
    bool is_python = true;
    if (begins_with(rest, "__pyx_f_")) is_python = false;
    else if (!begins_with(rest, "__pyx_pf_") && !begins_with(rest, "__pyx_pw_")) return "";
    rest.erase(0, is_python ? 9 : 8);
    const std::string base = file.substr(file.rfind('/') + 1), stem = base.substr(0, base.find('.'));
    std::vector<std::string> names;
    for (;;) {
        const std::size_t digits = std::min<std::size_t>(count_digits(rest, 0), 3);
        const std::size_t length = digits > 0 ? std::stoul(rest.substr(0, digits)) : 0;
        if (length == 0 || digits + length + 1 >= rest.size() || rest[digits + length] != '_') break;
        const std::string name = rest.substr(digits, length), after = rest.substr(digits + length + 1);
        const bool is_name = !is_python || names.empty() || is_digit(after[0]) || std::isupper(static_cast<unsigned char>(name[0])) != 0 || name == stem;
        if (!is_name) break;
        names.push_back(name);
        rest = after;
    }
    if (is_python) rest.erase(0, count_digits(rest, 0));
    remove_fused(rest);
    if (rest.empty()) return "";
    names.push_back(rest);
    return joined(names, ".");
}

}  // namespace

bool is_outlined(const std::string& symbol) { return begins_with(symbol, ".omp"); }

bool is_fortran_file(const std::string& path) {
    std::string extension = path.substr(std::min(path.rfind('.'), path.size()));
    std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return std::tolower(c); });
    const std::vector<std::string> known{".f", ".for", ".ftn", ".fpp", ".f77", ".f90", ".f95", ".f03", ".f08", ".f18"};
    return std::find(known.begin(), known.end(), extension) != known.end();
}

std::string name_in_source(const std::string& symbol, const std::string& file, bool is_fortran) {
    const std::string whole = without_suffix(without_offloading(symbol));
    if (const std::string procedure = fortran_procedure(whole); !procedure.empty()) return procedure;
    if (const std::string function = cython_function(whole, file); !function.empty()) return function;
    if (is_fortran) return without_fortran_marks(whole);
    return without_suffix(without_types(demangled(whole)));
}

}  // namespace mpet::profiler
