#include "cli/commands.h"

namespace chorale {

Outcome perform(const Message& message, Supervisor&) {
  return {.text = message.text};
}

}  // namespace chorale
