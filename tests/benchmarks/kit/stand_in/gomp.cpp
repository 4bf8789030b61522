// An OpenMP runtime with the entry points that GCC's code calls, on std::thread: small, slow, and, unlike libgomp,
// built with ThreadSanitizer, so that what it orders is seen to be ordered. Threads are kept and used again by whatever
// team needs them next. It also reports to a tool (OMPT) as libomp does, whose place it takes for that: what a worker
// reports of a region's end comes when it comes, after the master may have reported the end of the whole.
#include <dlfcn.h>

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <profiler/ompt_interface.h>

namespace {

// ---- the tool

ompt_callback_t callbacks[64];

int set_callback(int event, ompt_callback_t callback) {
    callbacks[event] = callback;
    return ompt_set_always;
}

void start_tool() {
    using Start = ompt_start_tool_result_t*(unsigned, const char*);
    const auto start = reinterpret_cast<Start*>(dlsym(RTLD_DEFAULT, "ompt_start_tool"));
    ompt_start_tool_result_t* const tool = start != nullptr ? start(201811, "stand-in") : nullptr;
    if (tool == nullptr) return;
    tool->initialize([](const char*) { return reinterpret_cast<ompt_interface_fn_t>(set_callback); }, 0, &tool->tool_data);
}

template <class... Arguments>
void tell(int event, Arguments... arguments) {
    if (callbacks[event] != nullptr) reinterpret_cast<void (*)(Arguments...)>(callbacks[event])(arguments...);
}

const void* const no_address = nullptr;
ompt_data_t* const no_data = nullptr;
constexpr int implicit_barrier = 2, implicit_task = 2, lock_kind = 1, critical_kind = 5;

void tell_wait(int kind, int endpoint, ompt_data_t* parallel, ompt_data_t* task) {
    for (const int event : {ompt_callback_sync_region, ompt_callback_sync_region_wait})
        tell(event, kind, endpoint, parallel, task, no_address);
}

// ---- what there is

using Body = void (*)(void*);
using Guard = std::unique_lock<std::mutex>;

struct Group {
    int pending = 0;
    Group* outer = nullptr;
};

struct Task {
    Body body = nullptr;
    std::vector<max_align_t> data;
    Task* parent = nullptr;
    Group* group = nullptr;
    int children = 0;
    bool finished = false;
    ompt_data_t tool_data{};
};

struct Loop {
    long next = 0, end = 0, step = 1, chunk = 1;
    bool guided = false;
    int left = 0;  // threads that are through with it
};

struct Team {
    explicit Team(int threads) : size(threads), implicit(static_cast<std::size_t>(threads)) {}

    const int size;
    ompt_data_t tool_data{};
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0, running = 0;
    unsigned generation = 0, singles = 0;
    std::map<unsigned, Loop> loops;
    std::deque<Task*> ready;
    std::vector<Task> implicit;
};

struct Self {
    Team* team = nullptr;
    int id = 0;
    unsigned loops = 0, singles = 0;
    Task* task = nullptr;
};

thread_local Self self;

// ---- tasks

void run(Team& team, Task* task, Guard& lock) {
    team.running++;
    lock.unlock();
    Task* const before = std::exchange(self.task, task);
    tell(ompt_callback_task_schedule, &before->tool_data, static_cast<int>(ompt_task_switch), &task->tool_data);
    task->body(task->data.data());
    tell(ompt_callback_task_schedule, &task->tool_data, static_cast<int>(ompt_task_complete), &before->tool_data);
    self.task = before;
    lock.lock();
    team.running--;
    task->finished = true;
    task->group->pending--;
    task->parent->children--;
    while (task->finished && task->children == 0) delete std::exchange(task, task->parent);  // implicit ones do not finish
    team.changed.notify_all();
}

// Executes ready tasks until `over`.
template <class Over>
void work_until(Team& team, Guard& lock, Over over) {
    while (!over()) {
        if (team.ready.empty()) {
            team.changed.wait(lock);
            continue;
        }
        Task* const task = team.ready.front();
        team.ready.pop_front();
        run(team, task, lock);
    }
}

void pass_barrier(Team& team) {
    Guard lock(team.mutex);
    const unsigned generation = team.generation;
    team.arrived++;
    team.changed.notify_all();
    work_until(team, lock, [&] {
        const bool last = team.arrived == team.size && team.ready.empty() && team.running == 0;
        if (generation != team.generation || !last) return generation != team.generation;
        team.arrived = 0;
        team.generation++;
        team.changed.notify_all();
        return true;
    });
}

void wait_at_barrier(Team& team, bool at_end = false) {
    ompt_data_t* const task = &self.task->tool_data;
    tell_wait(implicit_barrier, ompt_scope_begin, &team.tool_data, task);
    pass_barrier(team);
    tell_wait(implicit_barrier, ompt_scope_end, at_end ? nullptr : &team.tool_data, task);
}

// ---- threads

struct Worker {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> job;
    bool stopping = false;
    std::thread thread{[this] { serve(); }};

    void serve() {
        Guard lock(mutex);
        while (true) {
            changed.wait(lock, [this] { return job || stopping; });
            if (stopping) return;
            lock.unlock();
            job();
            lock.lock();
            job = nullptr;
            changed.notify_all();
        }
    }

    void start(std::function<void()> work) {
        const Guard lock(mutex);
        job = std::move(work);
        changed.notify_all();
    }

    void wait() {
        Guard lock(mutex);
        changed.wait(lock, [this] { return !job; });
    }

    ~Worker() {
        {
            const Guard lock(mutex);
            stopping = true;
            changed.notify_all();
        }
        thread.join();
    }
};

std::mutex pool_mutex;
std::vector<std::unique_ptr<Worker>> pool;

std::unique_ptr<Worker> take_worker() {
    const Guard lock(pool_mutex);
    if (pool.empty()) return std::make_unique<Worker>();
    std::unique_ptr<Worker> worker = std::move(pool.back());
    pool.pop_back();
    return worker;
}

void take_part(Team& team, int id, Body body, void* data, unsigned loops) {
    const Self before = std::exchange(self, Self{&team, id, loops, 0, &team.implicit[static_cast<std::size_t>(id)]});
    Group group;
    self.task->group = &group;
    ompt_data_t* const task = &self.task->tool_data;
    const unsigned size = static_cast<unsigned>(team.size), index = static_cast<unsigned>(id);
    tell(ompt_callback_implicit_task, static_cast<int>(ompt_scope_begin), &team.tool_data, task, size, index,
         implicit_task);
    body(data);
    wait_at_barrier(team, true);
    tell(ompt_callback_implicit_task, static_cast<int>(ompt_scope_end), no_data, task, size, index, implicit_task);
    self = before;
}

void run_region(Body body, void* data, unsigned threads, const Loop* loop = nullptr) {
    static std::once_flag tool_started;
    std::call_once(tool_started, start_tool);
    const char* const asked = std::getenv("OMP_NUM_THREADS");
    const int size = threads > 0 ? static_cast<int>(threads) : asked != nullptr ? std::atoi(asked) : 2;
    Team team(size);
    if (loop != nullptr) team.loops[0] = *loop;
    const unsigned loops = loop != nullptr ? 1 : 0;
    tell(ompt_callback_parallel_begin, no_data, no_address, &team.tool_data, static_cast<unsigned>(size), 0,
         reinterpret_cast<const void*>(body));
    std::vector<std::unique_ptr<Worker>> workers;
    for (int id = 1; id < size; id++) {
        workers.push_back(take_worker());
        workers.back()->start([&team, id, body, data, loops] { take_part(team, id, body, data, loops); });
    }
    take_part(team, 0, body, data, loops);
    tell(ompt_callback_parallel_end, &team.tool_data, no_data, 0, no_address);
    for (std::unique_ptr<Worker>& worker : workers) {
        worker->wait();
        const Guard lock(pool_mutex);
        pool.push_back(std::move(worker));
    }
}

// ---- loops

bool next_chunk(unsigned number, long* begin, long* end) {
    Team& team = *self.team;
    const Guard lock(team.mutex);
    Loop& loop = team.loops.at(number);
    const long left = (loop.end - loop.next) / loop.step;
    if (left <= 0) {
        if (++loop.left == team.size) team.loops.erase(number);
        return false;
    }
    const long share = loop.guided ? std::max(loop.chunk, left / (2 * team.size)) : loop.chunk;
    *begin = loop.next;
    *end = loop.next += std::min(share, left) * loop.step;
    return true;
}

bool start_loop(const Loop& loop, long* begin, long* end) {
    {
        const Guard lock(self.team->mutex);
        self.team->loops.emplace(self.loops, loop);
    }
    return next_chunk(self.loops++, begin, end);
}

Loop loop_of(long start, long end, long step, long chunk, bool guided) {
    return {start, end, step, std::max(chunk, 1L), guided, 0};
}

// ---- locks, by address

std::mutex& lock_at(const void* address) {
    static std::mutex mutex;
    static std::map<const void*, std::mutex> locks;
    const Guard guard(mutex);
    return locks[address];
}

const char unnamed = 0;

void acquire(int kind, const void* address) {
    const auto number = reinterpret_cast<std::uintptr_t>(address);
    tell(ompt_callback_mutex_acquire, kind, 0u, 0u, static_cast<std::uint64_t>(number), no_address);
    lock_at(address).lock();
    tell(ompt_callback_mutex_acquired, kind, static_cast<std::uint64_t>(number), no_address);
}

template <class Over>
void wait_for_tasks(int kind, Over over) {
    ompt_data_t *const parallel = &self.team->tool_data, *const task = &self.task->tool_data;
    tell_wait(kind, ompt_scope_begin, parallel, task);
    {
        Guard lock(self.team->mutex);
        work_until(*self.team, lock, over);
    }
    tell_wait(kind, ompt_scope_end, parallel, task);
}

}  // namespace

extern "C" {

int omp_get_thread_num() { return self.id; }
int omp_get_num_threads() { return self.team != nullptr ? self.team->size : 1; }

void GOMP_parallel(Body body, void* data, unsigned threads, unsigned) { run_region(body, data, threads); }
void GOMP_barrier() { wait_at_barrier(*self.team); }

bool GOMP_single_start() {
    const Guard lock(self.team->mutex);
    if (self.singles++ != self.team->singles) return false;
    self.team->singles++;
    return true;
}

#define SCHEDULE(kind, guided)                                                                                      \
    void GOMP_parallel_loop_##kind(Body body, void* data, unsigned threads, long start, long end, long step,        \
                                   long chunk, unsigned) {                                                          \
        const Loop loop = loop_of(start, end, step, chunk, guided);                                                 \
        run_region(body, data, threads, &loop);                                                                     \
    }                                                                                                               \
    bool GOMP_loop_##kind##_start(long start, long end, long step, long chunk, long* first, long* last) {           \
        return start_loop(loop_of(start, end, step, chunk, guided), first, last);                                   \
    }                                                                                                               \
    bool GOMP_loop_##kind##_next(long* first, long* last) { return next_chunk(self.loops - 1, first, last); }
SCHEDULE(dynamic, false)
SCHEDULE(guided, true)
SCHEDULE(nonmonotonic_dynamic, false)
SCHEDULE(nonmonotonic_guided, true)

void GOMP_loop_end() { wait_at_barrier(*self.team); }
void GOMP_loop_end_nowait() {}

unsigned GOMP_sections_next() {
    long first = 0, last = 0;
    return next_chunk(self.loops - 1, &first, &last) ? static_cast<unsigned>(first) : 0;
}
unsigned GOMP_sections_start(unsigned count) {
    long first = 0, last = 0;
    tell(ompt_callback_work, static_cast<int>(ompt_work_sections), static_cast<int>(ompt_scope_begin),
         &self.team->tool_data, &self.task->tool_data, static_cast<std::uint64_t>(count), no_address);
    return start_loop(loop_of(1, static_cast<long>(count) + 1, 1, 1, false), &first, &last)
               ? static_cast<unsigned>(first)
               : 0;
}
void GOMP_parallel_sections(Body body, void* data, unsigned threads, unsigned count, unsigned) {
    const Loop loop = loop_of(1, static_cast<long>(count) + 1, 1, 1, false);
    run_region(body, data, threads, &loop);
}
void GOMP_sections_end() { wait_at_barrier(*self.team); }
void GOMP_sections_end_nowait() {}

void GOMP_task(Body body, void* data, void (*copy)(void*, void*), long size, long, bool deferrable, unsigned, void**,
               int, void*) {
    Task* const task = new Task;
    task->body = body;
    task->data.resize(static_cast<std::size_t>(size) / sizeof(max_align_t) + 1);
    if (copy != nullptr) copy(task->data.data(), data);
    else std::memcpy(task->data.data(), data, static_cast<std::size_t>(size));
    task->parent = self.task;
    task->group = self.task->group;
    tell(ompt_callback_task_create, &self.task->tool_data, no_address, &task->tool_data,
         static_cast<int>(ompt_task_explicit), 0, no_address);
    Team& team = *self.team;
    Guard lock(team.mutex);
    task->parent->children++;
    task->group->pending++;
    if (!deferrable) return run(team, task, lock);
    team.ready.push_back(task);
    team.changed.notify_all();
}

void GOMP_taskwait() {
    const Task& own = *self.task;
    wait_for_tasks(ompt_sync_region_taskwait, [&] { return own.children == 0; });
}

void GOMP_taskgroup_start() { self.task->group = new Group{0, self.task->group}; }
void GOMP_taskgroup_end() {
    const std::unique_ptr<Group> group(self.task->group);
    wait_for_tasks(ompt_sync_region_taskgroup, [&] { return group->pending == 0; });
    self.task->group = group->outer;
}

void GOMP_critical_start() { acquire(critical_kind, &unnamed); }
void GOMP_critical_end() { lock_at(&unnamed).unlock(); }
void GOMP_critical_name_start(void** name) { acquire(critical_kind, name); }
void GOMP_critical_name_end(void** name) { lock_at(name).unlock(); }
void GOMP_atomic_start() { lock_at(&unnamed).lock(); }
void GOMP_atomic_end() { lock_at(&unnamed).unlock(); }

void omp_init_lock(void*) {}
void omp_destroy_lock(void*) {}
void omp_set_lock(void* lock) { acquire(lock_kind, lock); }
void omp_unset_lock(void* lock) { lock_at(lock).unlock(); }
}
