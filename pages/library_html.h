// A library as one self-contained page: the choice for each entry and size, its distance from the bound, and
// the sizes at which measurements contradict it. Nothing is loaded from elsewhere.
#pragma once

#include <string>

namespace chorale {

// Of JSON text: {library, answers, places: [{machine, group, members, collective, root, rooted, ranks,
// complete, stopped, points: [{steps, rounds, chunks, method, proven}], rows: [{bytes, point, us, least_us}],
// measured: [{over, point, bytes, median_us, least_us, most_us, times}]}]}; a measured point of -1 is the
// collective of the library that carried the messages.
std::string library_page(const std::string& title, const std::string& json);

}  // namespace chorale
