/* The part of the OpenMP tools interface (OMPT) that the profiler uses.
 *
 * It is written from the OpenMP API specification, version 5.0, section 4 and its later additions. The names and
 * numbers are those of the specification. The header omp-tools.h of a compiler is not needed.
 */
#ifndef MPET_OMPT_INTERFACE_H
#define MPET_OMPT_INTERFACE_H

#include <stdint.h>

typedef union ompt_data_t {
    uint64_t value;
    void *ptr;
} ompt_data_t;

typedef void (*ompt_interface_fn_t)(void);
typedef ompt_interface_fn_t (*ompt_function_lookup_t)(const char *name);
typedef void (*ompt_callback_t)(void);
typedef int (*ompt_set_callback_t)(int event, ompt_callback_t callback);

typedef struct ompt_start_tool_result_t {
    int (*initialize)(ompt_function_lookup_t lookup, int device, ompt_data_t *tool_data);
    void (*finalize)(ompt_data_t *tool_data);
    ompt_data_t tool_data;
} ompt_start_tool_result_t;

enum ompt_callbacks_t {
    ompt_callback_parallel_begin = 3,
    ompt_callback_parallel_end = 4,
    ompt_callback_task_create = 5,
    ompt_callback_task_schedule = 6,
    ompt_callback_implicit_task = 7,
    ompt_callback_sync_region_wait = 16,
    ompt_callback_work = 20,
    ompt_callback_sync_region = 23,
    ompt_callback_mutex_acquire = 26,
    ompt_callback_mutex_acquired = 27,
    ompt_callback_nest_lock = 28
};

enum ompt_set_result_t { ompt_set_error = 0, ompt_set_never = 1, ompt_set_always = 5 };

enum ompt_scope_endpoint_t { ompt_scope_begin = 1, ompt_scope_end = 2 };

enum ompt_sync_region_t { ompt_sync_region_taskwait = 5, ompt_sync_region_taskgroup = 6 }; /* the others are barriers */

enum ompt_mutex_t { ompt_mutex_test_lock = 2, ompt_mutex_test_nest_lock = 4 };

enum ompt_work_t { ompt_work_sections = 2 };

enum ompt_parallel_flag_t { ompt_parallel_league = 0x40000000 };

enum ompt_task_flag_t { ompt_task_initial = 0x1, ompt_task_explicit = 0x4, ompt_task_undeferred = 0x08000000 };

enum ompt_task_status_t {
    ompt_task_complete = 1,
    ompt_task_yield = 2,
    ompt_task_cancel = 3,
    ompt_task_detach = 4,
    ompt_task_switch = 7
};

#endif
