// Information from an ELF file for this machine's architecture, as needed to inspect a program before it is profiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpet::profiler {

struct Function {
    std::string name;
    std::uint64_t offset = 0;  // offset of the requested address from the start of the function
};

class ElfFile {
public:
    enum class Kind { missing, not_elf, foreign, native };

    explicit ElfFile(const std::string& path);

    Kind kind() const { return kind_; }
    const std::string& first_bytes() const { return bytes_; }
    bool is_dynamic() const;
    std::string interpreter() const;  // the dynamic loader; "" if there is none
    std::string compiler() const;     // from the .comment section; "" if it has no entry
    bool has_lines() const { return !section(".debug_line").empty() || !section(".zdebug_line").empty(); }

    bool imports(const std::string& prefix) const;   // whether any undefined dynamic symbol has this prefix
    bool exports(const std::string& name) const;     // whether the symbol is visible to other objects
    bool contains(const std::string& name) const;    // whether it has a function of this name, exported or not
    std::optional<Function> function_at(std::uint64_t address) const;
    std::vector<std::uint64_t> function_addresses() const;  // except those with names that begin with a dot

private:
    struct Symbol {
        std::string name;
        std::uint64_t address, size;
        bool defined, is_function;
    };

    template <class Record>
    const Record* at(std::uint64_t offset, std::uint64_t count = 1) const;
    std::string segment_text(std::uint32_t type) const;
    std::string section(const std::string& name) const;  // its bytes; "" if there is none
    void read_symbols(std::uint32_t section_type, std::vector<Symbol>& symbols);

    std::string bytes_;
    Kind kind_ = Kind::missing;
    std::vector<Symbol> dynamic_, all_;
};

}  // namespace mpet::profiler
