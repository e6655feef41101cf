# What is installed. Of the program and the library cpack makes a .deb each; what the component `static` installs, release.sh packs.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# What `--version` and the manual page tell. RE2 has no version but that of its ABI.
if(NOT EMSCRIPTEN)
  get_filename_component(re2_folder "${RE2_LINK_LIBRARIES}" DIRECTORY)
  get_filename_component(re2_file "${re2_folder}/libre2.so" REALPATH)
  string(REGEX REPLACE ".*\\.so\\.([0-9]+).*" "ABI \\1" re2_version "${re2_file}")
endif()
set_source_files_properties(${CMAKE_SOURCE_DIR}/engine/cli/manual.cpp ${CMAKE_SOURCE_DIR}/engine/cli/version.cpp PROPERTIES COMPILE_DEFINITIONS
  "GH_ADVISE_DATE=\"${release_date}\";GH_ADVISE_MACHINE=\"${CMAKE_SYSTEM_PROCESSOR}\";GH_ADVISE_COMPILER=\"${CMAKE_CXX_COMPILER_ID} C++ ${CMAKE_CXX_COMPILER_VERSION}\";GH_ADVISE_RE2=\"${re2_version}\"")

if(EMSCRIPTEN)
  # What is released of this build is one page.
  file(GLOB page_parts CONFIGURE_DEPENDS engine/package/browser/page.* engine/package/browser/worker.js engine/package/browser/pack.py engine/report/page.*)
  add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/browser.html
    COMMAND /usr/bin/python3 ${CMAKE_SOURCE_DIR}/engine/package/browser/pack.py ${PROJECT_VERSION} $<TARGET_FILE:gh-advise> ${CMAKE_BINARY_DIR}/gh-advise.wasm ${CMAKE_BINARY_DIR}/browser.html
    DEPENDS gh-advise ${page_parts} VERBATIM)
  add_custom_target(page ALL DEPENDS ${CMAKE_BINARY_DIR}/browser.html)
  return()
endif()

set(GH_MAINTAINER "The authors of gh-advise <gh-advise@localhost>" CACHE STRING "Whom the packages name: whoever hands them out")
# Debian wants a changelog of the package beside the program's.
execute_process(COMMAND date -u -R -d ${release_date} OUTPUT_VARIABLE changed OUTPUT_STRIP_TRAILING_WHITESPACE)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/changelog CONTENT "gh-advise (@PROJECT_VERSION@) stable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- @GH_MAINTAINER@  @changed@\n" @ONLY)

# The manual page and the completions, as the program writes them.
set(documents "")
function(add_document file)  # FILE ARGUMENTS...: standard output, packed where it is to be
  set(path ${CMAKE_BINARY_DIR}/documents/${file})
  set(pack cat)
  if(file MATCHES "\\.gz$")
    set(pack "gzip -9n")
  endif()
  add_custom_command(OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/documents
    COMMAND sh -ec "file=$1; shift; \"$@\" > \"$file.part\"; ${pack} < \"$file.part\" > \"$file\"; rm \"$file.part\"" write ${path} ${ARGN}
    DEPENDS gh-advise ${CMAKE_BINARY_DIR}/changelog VERBATIM)
  set(documents ${documents} ${path} PARENT_SCOPE)
endfunction()
set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:gh-advise>)
add_document(gh-advise.1.gz ${program} manual)
add_document(gh-advise ${program} completion bash)
add_document(_gh-advise ${program} completion zsh)
add_document(gh-advise.fish ${program} completion fish)
add_document(changelog.gz cat ${CMAKE_BINARY_DIR}/changelog)
add_custom_target(documents ALL DEPENDS ${documents})

install(TARGETS gh-advise RUNTIME COMPONENT program)
foreach(component program static)
  set(component COMPONENT ${component})
  if(component MATCHES static)
    list(APPEND component EXCLUDE_FROM_ALL)
  endif()
  install(FILES ${CMAKE_BINARY_DIR}/documents/gh-advise.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 ${component})
  install(FILES ${CMAKE_BINARY_DIR}/documents/gh-advise DESTINATION share/bash-completion/completions ${component})
  install(FILES ${CMAKE_BINARY_DIR}/documents/_gh-advise DESTINATION share/zsh/vendor-completions ${component})
  install(FILES ${CMAKE_BINARY_DIR}/documents/gh-advise.fish DESTINATION share/fish/vendor_completions.d ${component})
  install(FILES CHANGELOG.md engine/package/copyright ${CMAKE_BINARY_DIR}/documents/changelog.gz DESTINATION share/doc/gh-advise ${component})
  install(DIRECTORY docs DESTINATION share/doc/gh-advise ${component})
  install(FILES ${sample} DESTINATION share/doc/gh-advise/examples ${component})
  install(FILES schemas/gh.lua DESTINATION share/gh-advise ${component})  # for editors of rules
  install(FILES ${CMAKE_SOURCE_DIR}/build/page/browser.html DESTINATION share/gh-advise ${component} OPTIONAL)  # ./dev leaves it there for releases
endforeach()
if(TARGET gh-advise-static)
  install(TARGETS gh-advise-static RUNTIME COMPONENT static EXCLUDE_FROM_ALL)
  # What is inside the program has its licences beside it.
  set(licences "")
  foreach(package libsqlite3-dev liblua5.4-dev libre2-dev zlib1g-dev libfmt-dev libtomlplusplus-dev libsimdjson-dev nlohmann-json3-dev libcli11-dev libc6-dev libstdc++6)
    file(READ ${CMAKE_SYSROOT}/usr/share/doc/${package}/copyright licence)
    string(APPEND licences "==== ${package} ====\n\n${licence}\n")
  endforeach()
  file(WRITE ${CMAKE_BINARY_DIR}/documents/libraries-copyright "The program is linked statically with what these packages of Debian hold:\n\n${licences}")
  install(FILES ${CMAKE_BINARY_DIR}/documents/libraries-copyright LICENSE DESTINATION share/doc/gh-advise COMPONENT static EXCLUDE_FROM_ALL)
endif()

set(CPACK_PACKAGE_VENDOR gh-advise)
set(CPACK_PACKAGE_CONTACT "${GH_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "advisor and linter for GPU training runs")
set(CPACK_STRIP_FILES ON)

  # The library, for find_package(gh-advise).
  set_target_properties(engine PROPERTIES OUTPUT_NAME gh-advise)
  target_include_directories(engine INTERFACE $<INSTALL_INTERFACE:include> $<INSTALL_INTERFACE:include/gh-advise>)
  install(TARGETS engine EXPORT gh-advise ARCHIVE DESTINATION lib COMPONENT library)
  # The headers that advise.hpp includes, directly or not.
  set(installed "")
  set(waiting advise.hpp)
  while(waiting)
    list(POP_FRONT waiting header)
    list(APPEND installed ${header})
    cmake_path(GET header PARENT_PATH folder)
    install(FILES engine/${header} DESTINATION include/gh-advise/${folder} COMPONENT library)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS engine/${header})
    file(STRINGS engine/${header} includes REGEX "^#include \"")
    foreach(include IN LISTS includes)
      string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" include "${include}")
      if(NOT include IN_LIST installed AND NOT include IN_LIST waiting)
        list(APPEND waiting ${include})
      endif()
    endforeach()
  endwhile()
  install(EXPORT gh-advise FILE gh-advise-targets.cmake NAMESPACE gh-advise:: DESTINATION lib/cmake/gh-advise COMPONENT library)
  configure_package_config_file(engine/package/gh-advise-config.cmake.in ${CMAKE_BINARY_DIR}/gh-advise-config.cmake INSTALL_DESTINATION lib/cmake/gh-advise)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/gh-advise-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/gh-advise-config.cmake ${CMAKE_BINARY_DIR}/gh-advise-config-version.cmake DESTINATION lib/cmake/gh-advise COMPONENT library)
  install(FILES CHANGELOG.md engine/package/copyright ${CMAKE_BINARY_DIR}/documents/changelog.gz DESTINATION share/doc/libgh-advise-dev COMPONENT library)

  set(CPACK_GENERATOR DEB)
  set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
  set(CPACK_COMPONENTS_ALL program library)
  set(CPACK_DEB_COMPONENT_INSTALL ON)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME gh-advise)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
  set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "Finds what slows down a GPU training run, from its Nsight Systems report or
PyTorch profiler trace: what to fix first, what it is worth, and where the
proof is.")
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libgh-advise-dev)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
  set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libfmt-dev, liblua5.4-dev, libre2-dev, libsimdjson-dev, libsqlite3-dev, libtomlplusplus-dev, nlohmann-json3-dev, pkg-config, zlib1g-dev")
  set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "The engine of gh-advise for C++ programs that link it: it reads reports of
Nsight Systems and PyTorch profiler traces, and finds what slows them down.")
  if(CMAKE_CROSSCOMPILING)
    # dpkg-shlibdeps asks dpkg, which knows nothing of libraries for another machine. A Debian release has one version of each library
    # for all machines, so what the program needs here it needs there: ./dev passes what dpkg-shlibdeps found for this one.
    set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  else()
    set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
  endif()
include(CPack)
