// mpet-pack adds manifest.json to a folder of result files and packs it as an mpet-results/1 tarball (docs/formats,
// section 1).
//
//     mpet-pack [--origin measured|emulated] [--generator NAME VERSION] FOLDER TARBALL
//
// FOLDER contains platform.json, workloads.json, runs.csv and optionally counters.csv, environment.json and log.txt.
// Uses tar and gzip. The caller chooses the tarball's name; `mpet-pack --name NAME` only prints a suitable
// mpet-<name>-<utc>.
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "../include/mpet/json.hpp"
#include "../topology/build.hpp"
#include "sha256.hpp"

namespace {

namespace json = mpet::json;

constexpr const char* usage =
    "mpet-pack [--origin measured|emulated] [--generator NAME VERSION] FOLDER TARBALL\n"
    "mpet-pack --name NAME      prints mpet-NAME-<utc>\n";

struct Request {
    std::string origin = mpet::is_emulated() ? "emulated" : "measured";
    std::string generator = "mpet-kit", version = MPET_KIT_VERSION;
    std::string folder, tarball;
};

struct Member {
    const char* name;
    bool required;
};

constexpr Member members[] = {{"platform.json", true}, {"workloads.json", true},    {"runs.csv", true},
                              {"counters.csv", false}, {"environment.json", false}, {"log.txt", false}};

std::string archive_name(const std::string& name) {
    std::string safe;
    for (const char c : name)
        safe += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' ? c : '-';
    return "mpet-" + safe + "-" + mpet::utc_now("%Y%m%dT%H%M%SZ");
}

std::string manifest(const Request& request, std::vector<std::string>& packed) {
    json::Object files(2);
    for (const Member& member : members) {
        std::ifstream file(request.folder + "/" + member.name, std::ios::binary);
        if (!file && !member.required) continue;
        if (!file) throw std::runtime_error(request.folder + " has no " + member.name);
        const std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        files.add(member.name,
                  "{\"sha256\": \"" + mpet::sha256(content) + "\", \"bytes\": " + std::to_string(content.size()) + "}");
        packed.emplace_back(member.name);
    }
    json::Object generator(2);
    generator.add("name", json::quoted(request.generator)).add("version", json::quoted(request.version));
    json::Object all;
    all.add("schema", "\"mpet-results/1\"").add("created", json::quoted(mpet::utc_now()));
    all.add("generator", generator.str()).add("origin", json::quoted(request.origin)).add("files", files.str());
    return all.str() + "\n";
}

void run(std::vector<std::string> command) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        execvp(arguments[0], arguments.data());
        std::perror(arguments[0]);
        _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        throw std::runtime_error(command[0] + " failed");
}

void pack(const Request& request) {
    std::vector<std::string> packed;
    std::ofstream(request.folder + "/manifest.json", std::ios::binary) << manifest(request, packed);
    std::vector<std::string> command{"tar", "-czf", request.tarball, "-C", request.folder, "manifest.json"};
    command.insert(command.end(), packed.begin(), packed.end());
    try {
        run(command);
    } catch (const std::runtime_error&) {
        std::remove(request.tarball.c_str());  // it is incomplete
        throw;
    }
}

Request parse(int count, char** arguments) {
    Request request;
    std::vector<std::string> rest;
    for (int i = 1; i < count; i++) {
        const std::string word = arguments[i];
        if (word == "--origin" && i + 1 < count) {
            request.origin = arguments[++i];
        } else if (word == "--generator" && i + 2 < count) {
            request.generator = arguments[++i];
            request.version = arguments[++i];
        } else {
            rest.push_back(word);
        }
    }
    if (rest.size() != 2) throw std::invalid_argument("expected a folder and a tarball");
    request.folder = rest[0];
    request.tarball = rest[1];
    return request;
}

}  // namespace

int main(int count, char** arguments) {
    try {
        if (count == 3 && std::string(arguments[1]) == "--name")
            std::printf("%s\n", archive_name(arguments[2]).c_str());
        else pack(parse(count, arguments));
    } catch (const std::invalid_argument& error) {
        std::fprintf(stderr, "mpet-pack: %s\n%s", error.what(), usage);
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mpet-pack: %s\n", error.what());
        return 1;
    }
    return 0;
}
