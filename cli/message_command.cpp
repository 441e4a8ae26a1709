#include "cli/commands.h"

namespace chorale {

Outcome perform(const Message& message) {
  return {.text = message.text};
}

}  // namespace chorale
