// A test is a function with checks. A program runs its tests in order, and fails if one of them fails.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace check {

struct Test {
    const char* name;
    std::function<void()> body;
};

inline std::vector<Test>& tests() {
    static std::vector<Test> all;
    return all;
}

inline int failures = 0;

struct Registration {
    Registration(const char* name, std::function<void()> body) { tests().push_back({name, std::move(body)}); }
};

inline void fail(const char* file, int line, const std::string& what) {
    std::fprintf(stderr, "%s:%d: %s\n", file, line, what.c_str());
    failures++;
}

template <class A, class B>
void equal(const A& a, const B& b, const char* text, const char* file, int line) {
    if (a == b) return;
    std::ostringstream message;
    message << text << ": " << a << " is not " << b;
    fail(file, line, message.str());
}

// Runs all tests, or only those whose names are given as arguments.
inline int run(int count, char** arguments) {
    for (const Test& test : tests()) {
        bool wanted = count == 1;
        for (int i = 1; i < count; i++) wanted = wanted || std::string(arguments[i]) == test.name;
        if (!wanted) continue;
        const int before = failures;
        test.body();
        std::printf("%s %s\n", failures == before ? "passed" : "FAILED", test.name);
    }
    return failures == 0 ? 0 : 1;
}

}  // namespace check

#define TEST(name)                                                     \
    static void name();                                                \
    static const check::Registration registration_##name(#name, name); \
    static void name()
#define CHECK(condition) ((condition) ? (void)0 : check::fail(__FILE__, __LINE__, #condition))
#define CHECK_EQUAL(a, b) check::equal((a), (b), #a " = " #b, __FILE__, __LINE__)
#define CHECK_MAIN \
    int main(int count, char** arguments) { return check::run(count, arguments); }
