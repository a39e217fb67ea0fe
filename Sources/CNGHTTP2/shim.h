#ifndef TALKAROUND_CNGHTTP2_H
#define TALKAROUND_CNGHTTP2_H
#include <nghttp2/nghttp2.h>
#endif
