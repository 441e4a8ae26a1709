// Help, version, and what a shell asks for completion: their text is made when the command line is parsed.
#include "cli/commands.h"

namespace chorale {

Outcome perform(const Message& message, Supervisor&) {
  return {.text = message.text, .verbatim = message.verbatim};
}

}  // namespace chorale
