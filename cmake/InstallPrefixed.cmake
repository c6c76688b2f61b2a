# Run by cmake --install: what names its own place (cmake/SlicedInstall.cmake gives source, build and plugin).

set(prefix "${CMAKE_INSTALL_PREFIX}")
set(bin "${prefix}/bin")
if(prefix STREQUAL "/usr")
    set(etc /etc)
else()
    set(etc "${prefix}/etc")
endif()

configure_file("${source}/deploy/package/sliced.service.in" "${build}/install/sliced.service" @ONLY)
file(INSTALL "${build}/install/sliced.service" DESTINATION "${prefix}/lib/systemd/system")

configure_file("${source}/deploy/package/sliced.yaml.in" "${build}/install/sliced.yaml" @ONLY)
if(EXISTS "$ENV{DESTDIR}${etc}/sliced/sliced.yaml")
    message(STATUS "Kept: $ENV{DESTDIR}${etc}/sliced/sliced.yaml")
else()
    file(INSTALL "${build}/install/sliced.yaml" DESTINATION "${etc}/sliced")
endif()

# The plugin of kubectl prints its own.
execute_process(COMMAND "${plugin}" completion bash OUTPUT_FILE "${build}/install/kubectl-sliced" RESULT_VARIABLE status)
if(status EQUAL 0)
    file(INSTALL "${build}/install/kubectl-sliced" DESTINATION "${prefix}/share/bash-completion/completions")
else()
    message(WARNING "no completion for kubectl-sliced: it does not run here (${status})")
endif()
