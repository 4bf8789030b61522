#include "command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <mpet/clock.h>

namespace mpet::profiler {

namespace {

volatile sig_atomic_t caught_signal = 0;
volatile pid_t child = 0;

void on_signal(int number) {
    caught_signal = number;
    if (child > 0) kill(child, number);
}

[[noreturn]] void execute(const std::vector<std::string>& arguments) {
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    execvp(pointers[0], pointers.data());
    _exit(127);
}

// Provides the same input for every run: a file is read from its start. A terminal or a pipe cannot be read twice, so
// it is replaced by /dev/null.
void reopen_input() {
    struct stat input {};
    if (fstat(STDIN_FILENO, &input) == 0 && S_ISREG(input.st_mode) && lseek(STDIN_FILENO, 0, SEEK_SET) == 0) return;
    const int nothing = open("/dev/null", O_RDONLY);
    if (nothing >= 0) dup2(nothing, STDIN_FILENO);
}

[[noreturn]] void become(const Command& command) {
    reopen_input();
    const int output = open(command.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (output < 0) _exit(127);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    for (const auto& [name, value] : command.environment) {
        if (value.empty()) unsetenv(name.c_str());
        else setenv(name.c_str(), value.c_str(), 1);
    }
    if (!command.pid_variable.empty()) setenv(command.pid_variable.c_str(), std::to_string(getpid()).c_str(), 1);
    execute(command.arguments);
}

// Returns the processor time used so far by all programs of the machine and taken from it by its host.
std::int64_t machine_busy_ms() {
    std::ifstream file("/proc/stat");
    std::string name;
    std::int64_t user = 0, nice = 0, system = 0, idle = 0, waiting = 0, interrupts = 0, soft_interrupts = 0, stolen = 0;
    file >> name >> user >> nice >> system >> idle >> waiting >> interrupts >> soft_interrupts >> stolen;
    return (user + nice + system + interrupts + soft_interrupts + stolen) * 1000 / sysconf(_SC_CLK_TCK);
}

std::int64_t milliseconds(const timeval& time) { return static_cast<std::int64_t>(time.tv_sec) * 1000 + time.tv_usec / 1000; }

int status_of(int wait_status) { return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status); }

}  // namespace

void pass_signals_to_children() {
    struct sigaction action {};
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGHUP, &action, nullptr);
}

Outcome run(const Command& command) {
    Outcome outcome;
    const std::int64_t busy_before_ms = machine_busy_ms();
    const std::uint64_t begin_ns = mpet_monotonic_ns();
    const pid_t process = fork();
    if (process == 0) become(command);
    if (process < 0) return {127};
    child = process;
    int wait_status = 0;
    rusage used{};
    while (wait4(process, &wait_status, 0, &used) < 0 && errno == EINTR) {
    }
    child = 0;
    outcome.wall_ns = mpet_monotonic_ns() - begin_ns;
    outcome.status = status_of(wait_status);
    const std::int64_t wall_ms = static_cast<std::int64_t>(outcome.wall_ns / 1000000);
    const std::int64_t own_ms = milliseconds(used.ru_utime) + milliseconds(used.ru_stime);
    const std::int64_t others_ms = machine_busy_ms() - busy_before_ms - own_ms;
    outcome.processor_ns = static_cast<std::uint64_t>(own_ms) * 1000000;
    if (wall_ms > 0 && others_ms > 0) outcome.others_percent = others_ms * 100 / wall_ms;
    outcome.interrupted = caught_signal != 0;
    return outcome;
}

bool capture(const std::vector<std::string>& arguments, std::string& text) {
    int ends[2];
    if (pipe(ends) != 0) return false;
    const pid_t process = fork();
    if (process == 0) {
        const int nothing = open("/dev/null", O_WRONLY);
        dup2(ends[1], STDOUT_FILENO);
        if (nothing >= 0) dup2(nothing, STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        execute(arguments);
    }
    close(ends[1]);
    char buffer[4096];
    while (process > 0) {
        const ssize_t size = read(ends[0], buffer, sizeof buffer);
        if (size > 0) text.append(buffer, static_cast<std::size_t>(size));
        else if (size == 0 || errno != EINTR) break;
    }
    close(ends[0]);
    int wait_status = 0;
    while (process > 0 && waitpid(process, &wait_status, 0) < 0 && errno == EINTR) {
    }
    return process > 0 && status_of(wait_status) == 0;
}

}  // namespace mpet::profiler
