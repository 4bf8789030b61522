// Writes JSON with integers only: the kit's files contain no floating-point numbers.
#pragma once

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mpet::json {

// Returns the length of the UTF-8 sequence at a position. Bytes above 127 are copied if they are valid UTF-8, and
// replaced by '?' otherwise.
inline std::size_t utf8_length(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned lead = byte(at);
    const std::size_t length = lead < 0x80                   ? 1
                               : lead >= 0xc2 && lead < 0xe0 ? 2
                               : (lead & 0xf0) == 0xe0       ? 3
                               : lead >= 0xf0 && lead < 0xf5 ? 4
                                                             : 0;
    for (std::size_t i = 1; i < length; i++) {
        if ((byte(at + i) & 0xc0) != 0x80) return 0;
    }
    const bool overlong = (lead == 0xe0 && byte(at + 1) < 0xa0) || (lead == 0xf0 && byte(at + 1) < 0x90);
    const bool unassigned = (lead == 0xed && byte(at + 1) >= 0xa0) || (lead == 0xf4 && byte(at + 1) >= 0x90);
    return overlong || unassigned ? 0 : length;
}

inline std::string quoted(std::string_view text) {
    std::string out = "\"";
    for (std::size_t i = 0; i < text.size();) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const std::size_t length = utf8_length(text, i);
        if (byte == '"' || byte == '\\') {
            out += {'\\', text[i]};
        } else if (byte < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", byte);
            out += escape;
        } else {
            out += length == 0 ? "?" : std::string(text.substr(i, length));
        }
        i += length == 0 ? 1 : length;
    }
    return out + "\"";
}

inline std::string number(std::int64_t value) { return std::to_string(value); }
inline std::string number(std::optional<std::int64_t> value) { return value ? std::to_string(*value) : "null"; }
inline std::string text(const std::optional<std::string>& value) { return value ? quoted(*value) : "null"; }
inline std::string boolean(bool value) { return value ? "true" : "false"; }
inline std::string boolean(std::optional<bool> value) { return value ? boolean(*value) : "null"; }

// A JSON object. Members keep the order in which they are added; values must be JSON already.
class Object {
public:
    Object& add(std::string_view name, const std::string& value) {
        body_ += (body_.empty() ? "" : ",\n") + indent_ + quoted(name) + ": " + value;
        return *this;
    }
    std::string str() const { return body_.empty() ? "{}" : "{\n" + body_ + "\n" + indent_.substr(2) + "}"; }

    explicit Object(int depth = 1) : indent_(static_cast<std::size_t>(2 * depth), ' ') {}

private:
    std::string indent_;
    std::string body_;
};

inline std::string array(const std::vector<std::string>& values, const char* separator = ", ") {
    std::string out;
    for (const std::string& value : values) out += (out.empty() ? "" : separator) + value;
    return "[" + out + "]";
}

}  // namespace mpet::json
