#ifndef TALKAROUND_CSQLITE_H
#define TALKAROUND_CSQLITE_H
#include <sqlite3.h>

/// SQLITE_TRANSIENT, a macro that Swift does not see: SQLite copies the bytes before it returns.
static inline sqlite3_destructor_type talk_sqlite_transient(void) { return SQLITE_TRANSIENT; }
#endif
