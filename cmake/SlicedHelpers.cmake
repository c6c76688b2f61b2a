# Compile options of every target, and the two helpers that add a library and a test.

add_library(sl_options INTERFACE)
target_compile_definitions(sl_options INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(sl_options INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes
    -Wpointer-arith -Wwrite-strings -Wvla -Wundef -Wformat=2
    -fno-omit-frame-pointer -ffunction-sections -fdata-sections)
target_link_options(sl_options INTERFACE -Wl,--gc-sections)
# The daemon reads what others write: an overflow that is there all the same shall end it, not
# obey. _FORTIFY_SOURCE needs an optimised build, and sanitizers have checks of their own.
# test/purity/check_hardening.py looks at the programs.
target_compile_options(sl_options INTERFACE -fstack-protector-strong -fstack-clash-protection)
target_link_options(sl_options INTERFACE -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
if(NOT SL_SANITIZE)
    set(optimised $<CONFIG:Release,RelWithDebInfo,MinSizeRel>)
    target_compile_options(sl_options INTERFACE
        $<${optimised}:-U_FORTIFY_SOURCE> $<${optimised}:-D_FORTIFY_SOURCE=3>)
endif()
if(SL_DEVELOPER)
    target_compile_options(sl_options INTERFACE -Werror)
endif()
if(SL_SANITIZE)
    target_compile_options(sl_options INTERFACE -fsanitize=${SL_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(sl_options INTERFACE -fsanitize=${SL_SANITIZE})
endif()
if(SL_SANITIZE OR SL_FUZZ OR CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_definitions(sl_options INTERFACE SL_CHECKS_STOP) # src/util/check.h
endif()
if(SL_COVERAGE)
    target_compile_options(sl_options INTERFACE --coverage)
    target_link_options(sl_options INTERFACE --coverage)
endif()
if(SL_FUZZ)
    target_compile_options(sl_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

# sl_add_library(NAME [LINK lib...] [SUBFOLDERS folder...]): the library (static, unless
# BUILD_SHARED_LIBS) sl_NAME of the .c files in this folder and its subfolders, which are all folders
# below it where none is named; main/ is a program's. Subfolders stand in the order in which they may
# use each other, each behind those it uses: test/purity holds the sources to that and to LINK. A
# folder's headers are private to it unless another library links it: then they are seen as
# "NAME/header.h" or "NAME/SUBFOLDER/header.h".
function(sl_add_library name)
    cmake_parse_arguments(ARG "" "" "LINK;SUBFOLDERS" ${ARGN})
    if(ARG_SUBFOLDERS)
        list(TRANSFORM ARG_SUBFOLDERS APPEND "/*.c" OUTPUT_VARIABLE patterns)
        file(GLOB sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" *.c ${patterns})
    else()
        file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" *.c)
    endif()
    list(FILTER sources EXCLUDE REGEX "^main/")
    set_property(GLOBAL APPEND PROPERTY SL_LIBRARIES ${name})
    add_library(sl_${name} ${sources})
    target_include_directories(sl_${name} PUBLIC "${CMAKE_SOURCE_DIR}/src")
    target_link_libraries(sl_${name} PUBLIC sl_options ${ARG_LINK})
endfunction()

# sl_add_test(NAME SOURCES file... LINK lib... [LABELS label...]): a cmocka program that ctest runs.
function(sl_add_test name)
    cmake_parse_arguments(ARG "" "" "SOURCES;LINK;LABELS" ${ARGN})
    add_executable(${name} ${ARG_SOURCES})
    target_link_libraries(${name} PRIVATE sl_options ${ARG_LINK} test_main PkgConfig::CMOCKA)
    target_compile_definitions(${name} PRIVATE SL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 900 LABELS "${ARG_LABELS}"
        WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}")
endfunction()
