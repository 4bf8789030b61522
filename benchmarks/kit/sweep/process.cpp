#include "process.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace mpet {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
    return text;
}

[[noreturn]] void become(std::vector<std::string>& command, int output) {
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    dup2(output, STDOUT_FILENO);
    execv(arguments[0], arguments.data());
    std::fprintf(stderr, "%s: %s\n", arguments[0], std::strerror(errno));
    _exit(127);
}

void wait_for(pid_t child, const std::vector<std::string>& command) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFSIGNALED(status))
        throw std::runtime_error(joined(command) + " was killed by signal " + std::to_string(WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        throw std::runtime_error(joined(command) + " failed with status " + std::to_string(WEXITSTATUS(status)));
}

}  // namespace

void run_into_file(std::vector<std::string> command, const std::string& file) {
    const std::string unfinished = file + ".unfinished";
    const int output = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (output < 0) throw std::runtime_error(unfinished + ": " + std::strerror(errno));
    const pid_t child = fork();
    if (child == 0) become(command, output);
    close(output);
    if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    wait_for(child, command);
    if (std::rename(unfinished.c_str(), file.c_str()) != 0)
        throw std::runtime_error(file + ": " + std::strerror(errno));
}

std::string output_of(std::vector<std::string> command) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        become(command, ends[1]);
    }
    close(ends[1]);
    if (child < 0) throw std::runtime_error(std::string("fork: ") + std::strerror(errno));
    std::string output;
    char buffer[4096];
    for (ssize_t length = 0; (length = read(ends[0], buffer, sizeof buffer)) != 0;) {
        if (length > 0) output.append(buffer, static_cast<std::size_t>(length));
        else if (errno != EINTR) break;
    }
    close(ends[0]);
    wait_for(child, command);
    return output;
}

}  // namespace mpet
