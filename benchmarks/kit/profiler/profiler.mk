# Builds mpet-profile and the libraries that it preloads. The script ../mpet-profile calls this file in the kit's folder
# with make -f profiler/profiler.mk profiler
BUILD ?= build
CXX ?= g++

PROFILER_FLAGS := -std=c++17 -Wall -Wextra -Wno-psabi -Iinclude $(PROFILER_EXTRA_FLAGS)
PROFILER_LIBRARY_FLAGS := $(PROFILER_FLAGS) -O2 -fPIC -shared -fno-exceptions -fno-rtti -fvisibility=hidden -static-libgcc
PROFILER_LIBRARIES := $(addprefix $(BUILD)/libmpet_,gomp.so gomp_clean.so ompt.so ompt_clean.so)
PROFILER_HEADERS := $(wildcard profiler/*.hpp profiler/*.h include/mpet/*.h include/mpet/*.hpp topology/*.hpp pack/*.hpp)
# The folder is that of the Makefile's programs that do not measure anything, so that no file is compiled twice.
profiler_objects = $(patsubst %.cpp,$(BUILD)/tool/%.o,$(1))
PROFILER_OWN := $(call profiler_objects,$(filter-out profiler/gomp.cpp profiler/ompt.cpp,$(wildcard profiler/*.cpp)))
PROFILER_TOPOLOGY := $(call profiler_objects,$(addprefix topology/,files.cpp topology.cpp hardware.cpp microarchitecture.cpp))

.PHONY: profiler
profiler: $(BUILD)/mpet-profile $(BUILD)/mpet-pack $(PROFILER_LIBRARIES)

# Compile without optimisation, which halves the compile time.
$(BUILD)/tool/%.o: %.cpp $(PROFILER_HEADERS) VERSION
	@mkdir -p $(@D)
	$(CXX) $(PROFILER_FLAGS) $(OBJECT_FLAGS) -O0 -DMPET_KIT_VERSION='"$(shell cat VERSION)"' -c $< -o $@

$(BUILD)/mpet-pack: $(call profiler_objects,pack/main.cpp) $(PROFILER_TOPOLOGY)
	$(CXX) $^ -o $@

# PROFILER_PROGRAM_FLAGS apply only to the program, not to the libraries that it preloads.
$(PROFILER_OWN): OBJECT_FLAGS := $(PROFILER_PROGRAM_FLAGS)
$(BUILD)/mpet-profile: $(PROFILER_OWN) $(PROFILER_TOPOLOGY)
	$(CXX) $(PROFILER_PROGRAM_FLAGS) $^ -o $@

$(BUILD)/libmpet_%_clean.so: profiler/%.cpp $(PROFILER_HEADERS)
	@mkdir -p $(BUILD)
	$(CXX) $(PROFILER_LIBRARY_FLAGS) -DMPET_PROBES=0 $< -o $@ -Wl,--as-needed -ldl -lpthread

$(BUILD)/libmpet_%.so: profiler/%.cpp $(PROFILER_HEADERS)
	@mkdir -p $(BUILD)
	$(CXX) $(PROFILER_LIBRARY_FLAGS) $< -o $@ -Wl,--as-needed -ldl -lpthread
