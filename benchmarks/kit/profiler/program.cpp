#include "program.hpp"

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>
#include <vector>

#include "command.hpp"
#include "elf_file.hpp"

namespace mpet::profiler {

namespace {

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_executable_file(const std::string& path) {
    struct stat file {};
    return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

std::string find_in_path(const std::string& command) {
    const char* list = std::getenv("PATH");
    std::istringstream folders(list != nullptr ? list : "/usr/bin:/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string path = (folder.empty() ? "." : folder) + "/" + command;
        if (is_executable_file(path)) return path;
    }
    return command;
}

std::string find_program(const std::string& command) {
    const std::string path = command.find('/') == std::string::npos ? find_in_path(command) : command;
    struct stat file {};
    if (stat(path.c_str(), &file) != 0) throw Refusal(path + ": program not found. Name it with its path, as ./program.");
    if (!is_executable_file(path)) throw Refusal(path + ": is not an executable file. Name the program itself, or use chmod +x.");
    return path;
}

void refuse_raised_rights(const std::string& path) {
    struct stat file {};
    const bool raised = stat(path.c_str(), &file) == 0 && (file.st_mode & (S_ISUID | S_ISGID));
    if (raised || getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
        throw NotProfilable(path + ": runs with its owner's rights (setuid, setgid or file capabilities), and such programs load no "
                             "profiler. Profile a copy without them: cp " + path + " ./" + base_name(path) + "-copy (as an ordinary user).");
    }
}

void refuse_other_kinds(const std::string& path, const ElfFile& file) {
    if (file.first_bytes().compare(0, 2, "#!") == 0) {
        throw NotProfilable(path + ": is a script. Name the program that it starts, with the arguments that it passes.");
    }
    if (file.kind() == ElfFile::Kind::foreign) {
        throw NotProfilable(path + ": is built for another processor or word size than mpet-profile. Build the kit for the same one.");
    }
    if (file.kind() != ElfFile::Kind::native) throw NotProfilable(path + ": is not an ELF program. Name the program itself.");
    if (!file.is_dynamic()) {
        throw NotProfilable(path + ": is statically linked, so calls of its OpenMP runtime cannot be intercepted. "
                             "Link it without -static.");
    }
}

// Returns the shared libraries that the loader would load, from lines like "libgomp.so.1 => /usr/lib/libgomp.so.1
// (0x...)".
std::vector<std::string> shared_libraries(const std::string& path, const ElfFile& file) {
    std::string text;
    if (!capture({file.interpreter(), "--list", path}, text) && text.empty()) {
        throw Refusal(path + ": its loader " + file.interpreter() + " does not list its libraries. Is the program built for this system?");
    }
    std::vector<std::string> libraries;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t arrow = line.find(" => ");
        if (arrow == std::string::npos) continue;
        const std::string target = line.substr(arrow + 4);
        if (target.compare(0, 9, "not found") == 0) {
            throw Refusal(path + ": needs the library" + line.substr(line.find_first_not_of("\t "), arrow).insert(0, " ") +
                          ", which is not found. Set LD_LIBRARY_PATH as when you run it.");
        }
        libraries.push_back(target.substr(0, target.rfind(" (")));
    }
    return libraries;
}

// Which OpenMP runtimes the program and its libraries call, and which of them are present.
struct Use {
    bool calls_gomp = false, calls_kmpc = false;
    bool has_libgomp = false, has_libomp = false;

    void add_caller(const ElfFile& file) {
        calls_gomp = calls_gomp || file.imports("GOMP_");
        calls_kmpc = calls_kmpc || file.imports("__kmpc_");
    }
};

Use use_of_libraries(const std::vector<std::string>& libraries) {
    Use use;
    for (const std::string& path : libraries) {
        const ElfFile file(path);
        if (file.kind() != ElfFile::Kind::native) continue;
        if (file.exports("__kmpc_fork_call")) use.has_libomp = true;
        else if (file.exports("GOMP_parallel")) use.has_libgomp = true;
        else use.add_caller(file);
    }
    return use;
}

[[noreturn]] void refuse_without_openmp(const std::string& path, const ElfFile& file) {
    if (file.contains("GOMP_parallel") || file.contains("__kmpc_fork_call")) {
        throw NotProfilable(path + ": has its OpenMP runtime linked in. Link it with the shared libgomp or libomp.");
    }
    throw NotProfilable(path + ": does not use OpenMP: neither it nor its libraries need libgomp or libomp. Compile and link it with "
                         "-fopenmp. If it loads them at run time, use --runtime libgomp or --runtime libomp.");
}

std::string runtime_of(const std::string& path, const ElfFile& file, const Use& own, const Use& libraries) {
    if (own.calls_gomp && (own.calls_kmpc || !libraries.has_libgomp) && libraries.has_libomp) {
        throw NotProfilable(path + ": has code of GCC but runs on libomp, clang's runtime: its results can be wrong, and a profile would be wrong. "
                             "Build all of it with one compiler, and let GCC's code run on libgomp (look at LD_LIBRARY_PATH).");
    }
    if (own.calls_kmpc && libraries.has_libomp) return "libomp";
    if (own.calls_gomp && libraries.has_libgomp) return "libgomp";
    if (!libraries.has_libgomp && !libraries.has_libomp) refuse_without_openmp(path, file);
    if (libraries.has_libgomp != libraries.has_libomp) return libraries.has_libgomp ? "libgomp" : "libomp";
    throw Refusal(path + ": loads two OpenMP runtimes, libgomp and libomp. Choose one: --runtime libgomp or --runtime libomp.");
}

}  // namespace

Program inspect(const std::string& command, const std::string& runtime) {
    const std::string path = find_program(command);
    const ElfFile file(path);
    refuse_other_kinds(path, file);
    refuse_raised_rights(path);
    const std::vector<std::string> libraries = shared_libraries(path, file);
    Use own;
    own.add_caller(file);
    const std::string used = runtime.empty() ? runtime_of(path, file, own, use_of_libraries(libraries)) : runtime;
    return {path, base_name(path), used, file.compiler()};
}

}  // namespace mpet::profiler
