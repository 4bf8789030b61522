#include "elf_file.hpp"

#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

namespace mpet::profiler {

namespace {

constexpr unsigned char native_class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;

unsigned symbol_type(unsigned char info) { return info & 0xf; }

std::uint16_t native_machine() {
    std::ifstream self("/proc/self/exe", std::ios::binary);
    ElfW(Ehdr) header{};
    self.read(reinterpret_cast<char*>(&header), sizeof header);
    return header.e_machine;
}

}  // namespace

template <class Record>
const Record* ElfFile::at(std::uint64_t offset, std::uint64_t count) const {
    const std::uint64_t size = bytes_.size();
    if (offset > size || count > (size - offset) / sizeof(Record) || offset % alignof(Record) != 0) return nullptr;
    return reinterpret_cast<const Record*>(bytes_.data() + offset);
}

ElfFile::ElfFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) return;
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    kind_ = Kind::not_elf;
    if (bytes_.compare(0, SELFMAG, ELFMAG) != 0) return;
    kind_ = Kind::foreign;
    const auto* header = at<ElfW(Ehdr)>(0);
    if (header == nullptr || header->e_ident[EI_CLASS] != native_class || header->e_machine != native_machine()) return;
    kind_ = Kind::native;
    read_symbols(SHT_DYNSYM, dynamic_);
    read_symbols(SHT_SYMTAB, all_);
}

std::string ElfFile::segment_text(std::uint32_t type) const {
    const auto* header = at<ElfW(Ehdr)>(0);
    const auto* segments = at<ElfW(Phdr)>(header->e_phoff, header->e_phnum);
    for (int i = 0; segments != nullptr && i < header->e_phnum; i++) {
        if (segments[i].p_type != type) continue;
        const char* text = at<char>(segments[i].p_offset, segments[i].p_filesz);
        return text == nullptr ? "" : std::string(text, segments[i].p_filesz);
    }
    return "";
}

bool ElfFile::is_dynamic() const { return !segment_text(PT_INTERP).empty(); }

std::string ElfFile::interpreter() const { return segment_text(PT_INTERP).c_str(); }

std::string ElfFile::section(const std::string& wanted) const {
    const auto* header = at<ElfW(Ehdr)>(0);
    const auto* sections = at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    if (sections == nullptr || header->e_shstrndx >= header->e_shnum) return "";
    const auto& names = sections[header->e_shstrndx];
    for (int i = 0; i < header->e_shnum; i++) {
        const char* name = at<char>(names.sh_offset + sections[i].sh_name, wanted.size() + 1);
        const char* text = at<char>(sections[i].sh_offset, sections[i].sh_size);
        if (name != nullptr && text != nullptr && std::strcmp(name, wanted.c_str()) == 0) return std::string(text, sections[i].sh_size);
    }
    return "";
}

std::string ElfFile::compiler() const {
    std::istringstream texts(section(".comment"));  // one text for each compiler involved
    std::string all;
    for (std::string one; std::getline(texts, one, '\0');) {
        if (!one.empty()) all += (all.empty() ? "" : "; ") + one;
    }
    return all;
}

void ElfFile::read_symbols(std::uint32_t section_type, std::vector<Symbol>& symbols) {
    const auto* header = at<ElfW(Ehdr)>(0);
    const auto* sections = at<ElfW(Shdr)>(header->e_shoff, header->e_shnum);
    for (int i = 0; sections != nullptr && i < header->e_shnum; i++) {
        if (sections[i].sh_type != section_type || sections[i].sh_link >= header->e_shnum) continue;
        const auto& names = sections[sections[i].sh_link];
        const std::uint64_t count = sections[i].sh_size / sizeof(ElfW(Sym));
        const auto* table = at<ElfW(Sym)>(sections[i].sh_offset, count);
        const char* text = at<char>(names.sh_offset, names.sh_size);
        if (table == nullptr || text == nullptr) continue;
        for (std::uint64_t s = 0; s < count; s++) {
            if (table[s].st_name >= names.sh_size) continue;
            const std::string name(text + table[s].st_name, strnlen(text + table[s].st_name, names.sh_size - table[s].st_name));
            const unsigned type = symbol_type(table[s].st_info);
            symbols.push_back({name, table[s].st_value, table[s].st_size, table[s].st_shndx != SHN_UNDEF,
                               type == STT_FUNC || type == STT_GNU_IFUNC});
        }
    }
}

bool ElfFile::imports(const std::string& prefix) const {
    for (const Symbol& symbol : dynamic_) {
        if (!symbol.defined && symbol.name.compare(0, prefix.size(), prefix) == 0) return true;
    }
    return false;
}

bool ElfFile::exports(const std::string& name) const {
    for (const Symbol& symbol : dynamic_) {
        if (symbol.defined && symbol.name == name) return true;
    }
    return false;
}

bool ElfFile::contains(const std::string& name) const {
    for (const Symbol& symbol : all_) {
        if (symbol.defined && symbol.name == name) return true;
    }
    return exports(name);
}

std::optional<Function> ElfFile::function_at(std::uint64_t address) const {
    const Symbol* best = nullptr;
    for (const auto* symbols : {&all_, &dynamic_}) {
        for (const Symbol& symbol : *symbols) {
            const bool holds = symbol.address <= address && address - symbol.address < symbol.size;
            if (symbol.defined && symbol.is_function && holds && (best == nullptr || symbol.address > best->address)) best = &symbol;
        }
    }
    if (best == nullptr) return std::nullopt;
    return Function{best->name, address - best->address};
}

std::vector<std::uint64_t> ElfFile::function_addresses() const {
    std::vector<std::uint64_t> addresses;
    for (const Symbol& symbol : all_) {
        if (symbol.defined && symbol.is_function && symbol.name[0] != '.') addresses.push_back(symbol.address);
    }
    return addresses;
}

}  // namespace mpet::profiler
