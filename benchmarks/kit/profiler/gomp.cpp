// Records the parallel regions of a program built by GCC: a library that is preloaded in front of libgomp.
//
// It defines the functions that GCC's code calls (GOMP_*) and the lock functions of omp.h. Each of them records the
// time and calls libgomp's own function. Bodies of regions and tasks are replaced by functions of this library that
// call them.
#include <cstdarg>

#include "next.hpp"
#include "recorder.hpp"

using namespace mpet;

typedef unsigned long long ull;

extern "C" {
int omp_get_thread_num(void);
int omp_get_num_threads(void);
}

// ---- parallel regions

namespace {

// The argument of launched(), which libgomp starts in place of the region's body.
struct Launch {
    void* reductions;  // GOMP_parallel_reductions reads this first word
    void (*body)(void*);
    void* data;
    Team* team;
};

void launched(void* argument) {
    const Launch& launch = *static_cast<Launch*>(argument);
    const int id = NEXT(omp_get_thread_num)();
    const int size = NEXT(omp_get_num_threads)();
    if (launch.team != nullptr) {
        take_seat(*launch.team, id, size);
        launch.body(launch.data);
        reach_region_end();
        return;
    }
    const Place outer = enter_nested_region(size);
    launch.body(launch.data);
    here = outer;
}

using Body = void(void*);

template <class Start, class... Arguments>
void run_region(const void* call_site, Start* start, Body* body, void* data, Arguments... arguments) {
    if (!recording) return start(body, data, arguments...);
    Launch launch{nullptr, body, data, open_team(call_site, reinterpret_cast<const void*>(body))};
    start(launched, &launch, arguments...);
    close_team(launch.team);
}

}  // namespace

#define CALL_SITE __builtin_return_address(0)

EXPORT void GOMP_parallel(Body* body, void* data, unsigned threads, unsigned flags) {
    run_region(CALL_SITE, NEXT(GOMP_parallel), body, data, threads, flags);
}

EXPORT void GOMP_parallel_sections(Body* body, void* data, unsigned threads, unsigned count, unsigned flags) {
    run_region(CALL_SITE, NEXT(GOMP_parallel_sections), body, data, threads, count, flags);
}

EXPORT unsigned GOMP_parallel_reductions(Body* body, void* data, unsigned threads, unsigned flags) {
    if (!recording) return NEXT(GOMP_parallel_reductions)(body, data, threads, flags);
    Launch launch{*static_cast<void**>(data), body, data, open_team(CALL_SITE, reinterpret_cast<const void*>(body))};
    const unsigned used = NEXT(GOMP_parallel_reductions)(launched, &launch, threads, flags);
    close_team(launch.team);
    return used;
}

#define PARALLEL_LOOP(name)                                                                                         \
    EXPORT void name(Body* body, void* data, unsigned threads, long start, long end, long step, long chunk,         \
                     unsigned flags) {                                                                              \
        run_region(CALL_SITE, NEXT(name), body, data, threads, start, end, step, chunk, flags);                     \
    }
PARALLEL_LOOP(GOMP_parallel_loop_static)
PARALLEL_LOOP(GOMP_parallel_loop_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_guided)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_dynamic)
PARALLEL_LOOP(GOMP_parallel_loop_nonmonotonic_guided)

#define PARALLEL_LOOP_RUNTIME(name)                                                                                 \
    EXPORT void name(Body* body, void* data, unsigned threads, long start, long end, long step, unsigned flags) {   \
        run_region(CALL_SITE, NEXT(name), body, data, threads, start, end, step, flags);                            \
    }
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_runtime)
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_nonmonotonic_runtime)
PARALLEL_LOOP_RUNTIME(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

// GCC before 4.9 starts a region, calls its body itself, and ends the region.

namespace {

struct Started {
    Launch launch;
    Place outer;
    Started* previous;
};

__attribute__((tls_model("initial-exec"))) thread_local Started* innermost_started = nullptr;

template <class Start, class... Arguments>
void start_region(const void* call_site, Start* start, Body* body, void* data, Arguments... arguments) {
    void* memory = recording ? std::malloc(sizeof(Started)) : nullptr;
    if (memory == nullptr) return start(body, data, arguments...);
    Started* started = new (memory) Started{{nullptr, body, data, open_team(call_site, reinterpret_cast<const void*>(body))}, here, innermost_started};
    innermost_started = started;
    start(launched, &started->launch, arguments...);
    const int size = NEXT(omp_get_num_threads)();
    if (started->launch.team != nullptr) {
        take_seat(*started->launch.team, 0, size);
    } else {
        enter_nested_region(size);
    }
}

}  // namespace

EXPORT void GOMP_parallel_start(Body* body, void* data, unsigned threads) {
    start_region(CALL_SITE, NEXT(GOMP_parallel_start), body, data, threads);
}

EXPORT void GOMP_parallel_sections_start(Body* body, void* data, unsigned threads, unsigned count) {
    start_region(CALL_SITE, NEXT(GOMP_parallel_sections_start), body, data, threads, count);
}

EXPORT void GOMP_parallel_loop_runtime_start(Body* body, void* data, unsigned threads, long start, long end, long step) {
    start_region(CALL_SITE, NEXT(GOMP_parallel_loop_runtime_start), body, data, threads, start, end, step);
}

#define PARALLEL_LOOP_START(name)                                                                                 \
    EXPORT void name(Body* body, void* data, unsigned threads, long start, long end, long step, long chunk) {     \
        start_region(CALL_SITE, NEXT(name), body, data, threads, start, end, step, chunk);                        \
    }
PARALLEL_LOOP_START(GOMP_parallel_loop_static_start)
PARALLEL_LOOP_START(GOMP_parallel_loop_dynamic_start)
PARALLEL_LOOP_START(GOMP_parallel_loop_guided_start)

EXPORT void GOMP_parallel_end(void) {
    Started* started = innermost_started;
    if (started == nullptr) return NEXT(GOMP_parallel_end)();
    innermost_started = started->previous;
    if (started->launch.team != nullptr) reach_region_end();
    NEXT(GOMP_parallel_end)();
    if (started->launch.team != nullptr) {
        close_team(started->launch.team);
    } else {
        here = started->outer;
    }
    std::free(started);
}

#if MPET_PROBES

// ---- shares of loops and sections

// Fetching a share is charged to distribution.
#define FETCH(result, name, parameters, arguments, construct)                       \
    EXPORT result name parameters {                                                 \
        const Span span(current_seat(), MPET_DISTRIBUTION, construct);              \
        return NEXT(name) arguments;                                                \
    }

#define LOOP_NEXT(kind, construct)                                                                            \
    FETCH(bool, GOMP_loop_##kind##_next, (long* begin, long* end), (begin, end), construct)                   \
    FETCH(bool, GOMP_loop_ull_##kind##_next, (ull* begin, ull* end), (begin, end), construct)
LOOP_NEXT(static, 0)
LOOP_NEXT(dynamic, fetched_chunks)
LOOP_NEXT(guided, fetched_chunks)
LOOP_NEXT(runtime, fetched_chunks)
LOOP_NEXT(nonmonotonic_dynamic, fetched_chunks)
LOOP_NEXT(nonmonotonic_guided, fetched_chunks)
LOOP_NEXT(nonmonotonic_runtime, fetched_chunks)
LOOP_NEXT(maybe_nonmonotonic_runtime, fetched_chunks)
LOOP_NEXT(ordered_static, 0)
LOOP_NEXT(ordered_dynamic, fetched_chunks)
LOOP_NEXT(ordered_guided, fetched_chunks)
LOOP_NEXT(ordered_runtime, fetched_chunks)

#define LOOP_START(kind, construct)                                                                           \
    FETCH(bool, GOMP_loop_##kind##_start, (long start, long stop, long step, long chunk, long* begin,         \
          long* end), (start, stop, step, chunk, begin, end), construct)                                      \
    FETCH(bool, GOMP_loop_ull_##kind##_start, (bool up, ull start, ull stop, ull step, ull chunk, ull* begin, \
          ull* end), (up, start, stop, step, chunk, begin, end), construct)
LOOP_START(static, 0)
LOOP_START(dynamic, fetched_chunks)
LOOP_START(guided, fetched_chunks)
LOOP_START(nonmonotonic_dynamic, fetched_chunks)
LOOP_START(nonmonotonic_guided, fetched_chunks)
LOOP_START(ordered_static, 0)
LOOP_START(ordered_dynamic, fetched_chunks)
LOOP_START(ordered_guided, fetched_chunks)

#define LOOP_RUNTIME_START(kind)                                                                              \
    FETCH(bool, GOMP_loop_##kind##_start, (long start, long stop, long step, long* begin, long* end),         \
          (start, stop, step, begin, end), fetched_chunks)                                                    \
    FETCH(bool, GOMP_loop_ull_##kind##_start, (bool up, ull start, ull stop, ull step, ull* begin, ull* end), \
          (up, start, stop, step, begin, end), fetched_chunks)
LOOP_RUNTIME_START(runtime)
LOOP_RUNTIME_START(nonmonotonic_runtime)
LOOP_RUNTIME_START(maybe_nonmonotonic_runtime)
LOOP_RUNTIME_START(ordered_runtime)

// The general forms, for loops with task reductions. The schedule is a number: 1 is static.
namespace {

std::uint64_t chunks_of(long schedule) { return (schedule & 7) == 1 ? 0u : static_cast<std::uint64_t>(fetched_chunks); }

}  // namespace

#define GENERAL_START(name)                                                                                   \
    FETCH(bool, GOMP_loop_##name, (long start, long stop, long step, long schedule, long chunk, long* begin,  \
          long* end, std::uintptr_t* reductions, void** memory),                                              \
          (start, stop, step, schedule, chunk, begin, end, reductions, memory),                               \
          chunks_of(schedule))                                                                 \
    FETCH(bool, GOMP_loop_ull_##name, (bool up, ull start, ull stop, ull step, long schedule, ull chunk,      \
          ull* begin, ull* end, std::uintptr_t* reductions, void** memory),                                   \
          (up, start, stop, step, schedule, chunk, begin, end, reductions, memory),                           \
          chunks_of(schedule))
GENERAL_START(start)
GENERAL_START(ordered_start)

// Loops with iterations that wait for earlier ones: ordered(n) with depend.
#define DOACROSS_START(kind)                                                                                  \
    FETCH(bool, GOMP_loop_doacross_##kind##_start, (unsigned dimensions, long* counts, long chunk,            \
          long* begin, long* end), (dimensions, counts, chunk, begin, end), waited_for_iterations)            \
    FETCH(bool, GOMP_loop_ull_doacross_##kind##_start, (unsigned dimensions, ull* counts, ull chunk,          \
          ull* begin, ull* end), (dimensions, counts, chunk, begin, end), waited_for_iterations)
DOACROSS_START(static)
DOACROSS_START(dynamic)
DOACROSS_START(guided)
FETCH(bool, GOMP_loop_doacross_runtime_start, (unsigned dimensions, long* counts, long* begin, long* end),
      (dimensions, counts, begin, end), waited_for_iterations)
FETCH(bool, GOMP_loop_ull_doacross_runtime_start, (unsigned dimensions, ull* counts, ull* begin, ull* end),
      (dimensions, counts, begin, end), waited_for_iterations)
FETCH(bool, GOMP_loop_doacross_start, (unsigned dimensions, long* counts, long schedule, long chunk, long* begin,
      long* end, std::uintptr_t* reductions, void** memory),
      (dimensions, counts, schedule, chunk, begin, end, reductions, memory), waited_for_iterations)
FETCH(bool, GOMP_loop_ull_doacross_start, (unsigned dimensions, ull* counts, long schedule, ull chunk, ull* begin,
      ull* end, std::uintptr_t* reductions, void** memory),
      (dimensions, counts, schedule, chunk, begin, end, reductions, memory), waited_for_iterations)

FETCH(unsigned, GOMP_sections_start, (unsigned count), (count), took_sections)
FETCH(unsigned, GOMP_sections2_start, (unsigned count, std::uintptr_t* reductions, void** memory),
      (count, reductions, memory), took_sections)
FETCH(unsigned, GOMP_sections_next, (void), (), took_sections)
FETCH(bool, GOMP_single_start, (void), (), 0)
FETCH(void, GOMP_scope_start, (std::uintptr_t* reductions), (reductions), 0)

// Waiting for another iteration is imbalance, as in the middleware's wavefront. The number of arguments is the depth of
// the loop, which only libgomp has. A fixed, large enough number is passed here, and libgomp ignores the superfluous
// ones.
#define DOACROSS_WAIT(name, Index)                                                                          \
    EXPORT void name(Index first, ...) {                                                                    \
        const Span span(current_seat(), MPET_IMBALANCE, waited_for_iterations);                             \
        va_list list;                                                                                       \
        Index more[12];                                                                                     \
        va_start(list, first);                                                                              \
        for (Index& index : more) index = va_arg(list, Index);                                              \
        va_end(list);                                                                                       \
        NEXT(name)(first, more[0], more[1], more[2], more[3], more[4], more[5], more[6], more[7], more[8],  \
                   more[9], more[10], more[11]);                                                            \
    }
DOACROSS_WAIT(GOMP_doacross_wait, long)
DOACROSS_WAIT(GOMP_doacross_ull_wait, ull)

// ---- barriers

#define BARRIER(result, name, parameters, arguments)   \
    EXPORT result name parameters {                    \
        const BarrierWait wait;                        \
        return NEXT(name) arguments;                   \
    }
BARRIER(void, GOMP_barrier, (void), ())
BARRIER(bool, GOMP_barrier_cancel, (void), ())
BARRIER(void, GOMP_loop_end, (void), ())
BARRIER(bool, GOMP_loop_end_cancel, (void), ())
BARRIER(void, GOMP_sections_end, (void), ())
BARRIER(bool, GOMP_sections_end_cancel, (void), ())
BARRIER(void, GOMP_single_copy_end, (void* data), (data))
BARRIER(void, GOMP_workshare_task_reduction_unregister, (bool cancelled), (cancelled))

// One thread gets null, executes the block and meets the others in GOMP_single_copy_end. They wait for it in this call.
EXPORT void* GOMP_single_copy_start(void) {
    Seat* seat = current_seat();
    if (seat != nullptr) seat->arrive(mpet_now());
    void* copied = NEXT(GOMP_single_copy_start)();
    if (seat == nullptr) return copied;
    if (copied != nullptr) {
        seat->leave_barrier(mpet_now());
    } else {
        seat->leave(mpet_now());
    }
    return copied;
}

// ---- locks

#define LOCK(name, parameters, arguments)                       \
    EXPORT void name parameters {                               \
        const Span span(locking_seat(), MPET_LOCK);             \
        NEXT(name) arguments;                                   \
    }
LOCK(GOMP_critical_start, (void), ())
LOCK(GOMP_critical_name_start, (void** lock), (lock))
LOCK(GOMP_atomic_start, (void), ())
LOCK(GOMP_ordered_start, (void), ())
LOCK(omp_set_lock, (void* lock), (lock))
LOCK(omp_set_lock_, (void* lock), (lock))
LOCK(omp_set_nest_lock, (void* lock), (lock))
LOCK(omp_set_nest_lock_, (void* lock), (lock))

// ---- tasks

namespace {

constexpr unsigned task_has_dependences = 1u << 3;
constexpr unsigned taskloop_has_reductions = 1u << 12;
constexpr unsigned task_is_detachable = 1u << 13;

// Precedes the task's own data. libgomp writes the bounds of a taskloop into the first two words, and reads the
// reductions from the third.
template <class Index>
struct Task {
    Index begin;
    Index end;
    std::uintptr_t* reductions;
    void (*body)(void*);
    void (*copy)(void*, void*);
    void* source;  // the source of the data, while the task is created
    std::size_t offset;
    std::size_t size;
    Team* team;
    Seat* creator;
    bool is_loop;
    bool counts_as_ready;  // false for a task with dependences, because it may have to wait
};

template <class Index>
void copy_task(void* to, void* from) {
    const Task<Index>& task = *static_cast<Task<Index>*>(from);
    char* data = static_cast<char*>(to) + task.offset;
    new (to) Task<Index>(task);
    if (task.copy != nullptr) {
        task.copy(data, task.source);
    } else {
        std::memcpy(data, task.source, task.size);
    }
    if (task.counts_as_ready) task.team->add_ready_task(task.creator->account.last_ns);
}

template <class Index>
void run_task(void* argument) {
    const Task<Index>& task = *static_cast<Task<Index>*>(argument);
    char* data = static_cast<char*>(argument) + task.offset;
    if (task.is_loop) {
        reinterpret_cast<Index*>(data)[0] = task.begin;
        reinterpret_cast<Index*>(data)[1] = task.end;
    }
    Seat* seat = current_seat();
    const std::uint64_t interrupted = seat != nullptr ? seat->begin_task(mpet_now()) : 0;
    if (task.counts_as_ready) task.team->take_ready_task();
    task.body(data);
    if (seat != nullptr) seat->end_task(interrupted, mpet_now());
}

template <class Index>
Task<Index> make_task(Seat& seat, Body* body, void* data, void (*copy)(void*, void*), long size, long alignment) {
    const std::size_t step = alignment > 16 ? static_cast<std::size_t>(alignment) : 16;
    Task<Index> task{};
    task.body = body;
    task.copy = copy;
    task.source = data;
    task.offset = (sizeof task + step - 1) / step * step;
    task.size = static_cast<std::size_t>(size);
    task.team = seat.team;
    task.creator = &seat;
    task.counts_as_ready = true;
    return task;
}

template <class Index, class Create>
void create_taskloop(Create* create, Body* body, void* data, void (*copy)(void*, void*), long size, long alignment,
                     unsigned flags, unsigned long tasks, int priority, Index begin, Index end, Index step) {
    Seat* seat = current_seat();
    if (seat == nullptr) return create(body, data, copy, size, alignment, flags, tasks, priority, begin, end, step);
    const Span span(seat, MPET_CREATION, created_tasks);
    Task<Index> task = make_task<Index>(*seat, body, data, copy, size, alignment);
    task.is_loop = true;
    if (flags & taskloop_has_reductions) {
        task.reductions = *reinterpret_cast<std::uintptr_t**>(static_cast<char*>(data) + 2 * sizeof(Index));
    }
    create(run_task<Index>, &task, copy_task<Index>, static_cast<long>(task.offset) + size,
           alignment > 16 ? alignment : 16, flags, tasks, priority, begin, end, step);
}

}  // namespace

// A detachable task is not wrapped, because libgomp writes its event into the first word of the creator's data. A task
// that is not deferred and has no dependences is not wrapped either: it is executed in this call, like any function,
// and counts as use.
EXPORT void GOMP_task(Body* body, void* data, void (*copy)(void*, void*), long size, long alignment, bool deferrable,
                      unsigned flags, void** dependences, int priority, void* detach) {
    Seat* seat = current_seat();
    const bool is_call = !deferrable && !(flags & task_has_dependences);
    if (seat != nullptr) seat->constructs |= created_tasks;
    const Span span(is_call ? nullptr : seat, MPET_CREATION);
    if (seat == nullptr || is_call || (flags & task_is_detachable)) {
        return NEXT(GOMP_task)(body, data, copy, size, alignment, deferrable, flags, dependences, priority, detach);
    }
    Task<long> task = make_task<long>(*seat, body, data, copy, size, alignment);
    task.counts_as_ready = !(flags & task_has_dependences);
    NEXT(GOMP_task)(run_task<long>, &task, copy_task<long>, static_cast<long>(task.offset) + size,
                    alignment > 16 ? alignment : 16, deferrable, flags, dependences, priority, detach);
}

EXPORT void GOMP_taskloop(Body* body, void* data, void (*copy)(void*, void*), long size, long alignment,
                          unsigned flags, unsigned long tasks, int priority, long begin, long end, long step) {
    create_taskloop(NEXT(GOMP_taskloop), body, data, copy, size, alignment, flags, tasks, priority, begin, end, step);
}

EXPORT void GOMP_taskloop_ull(Body* body, void* data, void (*copy)(void*, void*), long size, long alignment,
                              unsigned flags, unsigned long tasks, int priority, ull begin, ull end, ull step) {
    create_taskloop(NEXT(GOMP_taskloop_ull), body, data, copy, size, alignment, flags, tasks, priority, begin, end,
                    step);
}

#define TASK_WAIT(name, parameters, arguments)   \
    EXPORT void name parameters {                \
        const TaskWait wait;                     \
        NEXT(name) arguments;                    \
    }
TASK_WAIT(GOMP_taskwait, (void), ())
TASK_WAIT(GOMP_taskwait_depend, (void** dependences), (dependences))
TASK_WAIT(GOMP_taskgroup_end, (void), ())
TASK_WAIT(GOMP_taskyield, (void), ())

#endif

namespace {

__attribute__((constructor)) void begin_program() { start_recording(); }
__attribute__((destructor)) void end_program() { write_recording("libgomp"); }

}  // namespace
