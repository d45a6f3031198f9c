# SQLite, compiled into what links it: the system's may have lost committed data (docs/decisions/sqlite.md).
# Its warnings are its authors'; its symbols stay inside, since Node and other addons bring their own.
set(sqlite_folder ${PROJECT_SOURCE_DIR}/build/sqlite/3.53.2)
if(NOT EXISTS ${sqlite_folder}/sqlite3.c)
  execute_process(COMMAND node ${PROJECT_SOURCE_DIR}/scripts/setup/sqlite.mjs RESULT_VARIABLE sqlite_failed)
  if(sqlite_failed OR NOT EXISTS ${sqlite_folder}/sqlite3.c)
    message(FATAL_ERROR "The source of SQLite is not there. Run: node scripts/setup/sqlite.mjs")
  endif()
endif()
add_library(millrace_sqlite STATIC ${sqlite_folder}/sqlite3.c)
target_include_directories(millrace_sqlite SYSTEM INTERFACE ${sqlite_folder})
target_compile_options(millrace_sqlite PRIVATE -O2 -w -fvisibility=hidden)
target_compile_definitions(millrace_sqlite PRIVATE
  NDEBUG
  HAVE_USLEEP=1
  $<$<PLATFORM_ID:Linux>:HAVE_FDATASYNC=1>
  SQLITE_THREADSAFE=2
  SQLITE_DEFAULT_MEMSTATUS=0
  SQLITE_DEFAULT_WAL_SYNCHRONOUS=2
  SQLITE_DQS=0
  SQLITE_LIKE_DOESNT_MATCH_BLOBS
  SQLITE_OMIT_DECLTYPE
  SQLITE_OMIT_DEPRECATED
  SQLITE_OMIT_LOAD_EXTENSION
  SQLITE_OMIT_PROGRESS_CALLBACK
  SQLITE_OMIT_SHARED_CACHE
  SQLITE_TEMP_STORE=2
  SQLITE_TRUSTED_SCHEMA=0)
