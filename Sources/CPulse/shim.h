#ifndef TALKAROUND_CPULSE_H
#define TALKAROUND_CPULSE_H
#include <pulse/pulseaudio.h>
#endif
