#ifndef TALKAROUND_CSNDFILE_H
#define TALKAROUND_CSNDFILE_H
#include <sndfile.h>
#endif
