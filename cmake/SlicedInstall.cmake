# Says where "cmake --install" puts things, and makes the Debian package by CPack.

include(GNUInstallDirs)

install(TARGETS sliced slicesim kubectl-sliced RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
# The programs that are shipped have no table that an overflow could write.
foreach(program sliced slicesim kubectl-sliced)
    target_link_options(${program} PRIVATE -Wl,-z,relro,-z,now)
endforeach()
install(PROGRAMS src/cli/kubectl_complete-sliced DESTINATION "${CMAKE_INSTALL_BINDIR}")
install(FILES docs/man/sliced.8 DESTINATION "${CMAKE_INSTALL_MANDIR}/man8")
install(FILES docs/man/slicesim.1 docs/man/kubectl-sliced.1 DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
file(WRITE "${CMAKE_BINARY_DIR}/kubectl_complete-sliced.1" ".so man1/kubectl-sliced.1\n")
install(FILES "${CMAKE_BINARY_DIR}/kubectl_complete-sliced.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
install(FILES README.md LICENSE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(DIRECTORY deploy/examples DESTINATION "${CMAKE_INSTALL_DOCDIR}")
install(FILES deploy/package/sysusers.conf DESTINATION lib/sysusers.d RENAME sliced.conf)
foreach(program sliced slicesim)
    install(FILES deploy/package/completion.bash RENAME ${program}
        DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
endforeach()
# The rest depends on the prefix, which may be given as late as with "cmake --install --prefix".
install(CODE "set(source \"${CMAKE_SOURCE_DIR}\")\nset(build \"${CMAKE_BINARY_DIR}\")\nset(plugin \"$<TARGET_FILE:kubectl-sliced>\")")
install(SCRIPT cmake/InstallPrefixed.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_SET_DESTDIR ON) # /etc is outside the prefix
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_VENDOR "sliced")
set(CPACK_PACKAGE_CONTACT "The sliced authors <maintainers@sliced.dev>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "schedules slices of GPUs on Kubernetes")
set(CPACK_PACKAGE_DESCRIPTION "An extender of kube-scheduler for GPUs that are cut or shared (MIG,
memory, replicas), with a queue that decides who goes next; its simulator
slicesim; and the plugin kubectl-sliced for those who use the queue.")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The user of the service; on a machine with systemd that is there already.
set(CPACK_DEBIAN_PACKAGE_DEPENDS "systemd-standalone-sysusers | systemd-sysusers")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "ca-certificates")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
foreach(part postinst prerm postrm conffiles)
    list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA "${CMAKE_SOURCE_DIR}/deploy/package/${part}")
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_SOURCE_DIR}/cmake/PackageDebian.cmake")
set(CPACK_SLICED_SOURCE "${CMAKE_SOURCE_DIR}")
include(CPack)
