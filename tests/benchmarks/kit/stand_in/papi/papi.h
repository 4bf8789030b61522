/* What the kit uses of PAPI, for tests on machines without it. Every counter counts the same: 1000 a measurement. */
#ifndef PAPI_H
#define PAPI_H

#define PAPI_VER_CURRENT 7
#define PAPI_OK 0
#define PAPI_EINVAL (-1)
#define PAPI_ENOEVNT (-7)
#define PAPI_ECNFLCT (-8)
#define PAPI_EPERM (-15)
#define PAPI_NULL (-1)

enum {
    PAPI_TOT_INS, PAPI_TOT_CYC, PAPI_BR_INS, PAPI_BR_CN, PAPI_BR_MSP, PAPI_L1_DCR, PAPI_LD_INS, PAPI_L1_LDM,
    PAPI_L1_DCW, PAPI_SR_INS, PAPI_L1_STM, PAPI_L3_DCR, PAPI_L2_DCR, PAPI_L3_LDM, PAPI_L2_LDM, PAPI_L3_DCW,
    PAPI_L2_DCW, PAPI_L3_STM, PAPI_L2_STM
};

#ifdef __cplusplus
extern "C" {
#endif

int PAPI_library_init(int version);
int PAPI_thread_init(unsigned long (*thread_number)(void));
int PAPI_is_initialized(void);
int PAPI_query_event(int event);
int PAPI_create_eventset(int* set);
int PAPI_add_event(int set, int event);
int PAPI_start(int set);
int PAPI_stop(int set, long long* values);
int PAPI_cleanup_eventset(int set);
int PAPI_destroy_eventset(int* set);

#ifdef __cplusplus
}
#endif

#endif
