# mpet-profile and the libraries that it preloads. The script ../mpet-profile calls this from the kit's folder, as
# make -f profiler/profiler.mk profiler
BUILD ?= build
CXX ?= g++

PROFILER_FLAGS := -std=c++17 -Wall -Wextra -Wno-psabi -Iinclude $(PROFILER_EXTRA_FLAGS)
PROFILER_LIBRARY_FLAGS := $(PROFILER_FLAGS) -O2 -fPIC -shared -fno-exceptions -fno-rtti -fvisibility=hidden -static-libgcc
PROFILER_LIBRARIES := $(addprefix $(BUILD)/libmpet_,gomp.so gomp_clean.so ompt.so ompt_clean.so)
PROFILER_SOURCES := $(wildcard profiler/*.cpp)
PROFILER_HEADERS := $(wildcard profiler/*.hpp profiler/*.h include/mpet/*.h include/mpet/*.hpp topology/*.hpp)
PROFILER_PROGRAM := $(filter-out profiler/gomp.cpp profiler/ompt.cpp,$(PROFILER_SOURCES)) \
	topology/topology.cpp topology/hardware.cpp topology/microarchitecture.cpp topology/files.cpp

.PHONY: profiler
profiler: $(BUILD)/mpet-profile $(BUILD)/mpet-pack $(PROFILER_LIBRARIES)

$(BUILD)/mpet-pack: pack/main.cpp pack/sha256.hpp topology/topology.cpp topology/hardware.cpp topology/microarchitecture.cpp topology/files.cpp
	@mkdir -p $(BUILD)
	$(CXX) $(PROFILER_FLAGS) -O0 -DMPET_KIT_VERSION='"$(shell cat VERSION)"' $(filter %.cpp,$^) -o $@

# Compiled without optimisation, in half the time: it measures nothing itself. PROFILER_PROGRAM_FLAGS are for the program alone, not for what it preloads into others.
$(BUILD)/mpet-profile: $(PROFILER_PROGRAM) $(PROFILER_HEADERS)
	@mkdir -p $(BUILD)
	$(CXX) $(PROFILER_FLAGS) -O0 $(PROFILER_PROGRAM_FLAGS) $(PROFILER_PROGRAM) -o $@

$(BUILD)/libmpet_%_clean.so: profiler/%.cpp $(PROFILER_HEADERS)
	@mkdir -p $(BUILD)
	$(CXX) $(PROFILER_LIBRARY_FLAGS) -DMPET_PROBES=0 $< -o $@ -Wl,--as-needed -ldl -lpthread

$(BUILD)/libmpet_%.so: profiler/%.cpp $(PROFILER_HEADERS)
	@mkdir -p $(BUILD)
	$(CXX) $(PROFILER_LIBRARY_FLAGS) $< -o $@ -Wl,--as-needed -ldl -lpthread
