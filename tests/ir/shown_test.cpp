#include "ir/shown.h"

#include <gtest/gtest.h>

#include "ir/error.h"

namespace chorale {
namespace {

TEST(Shown, WhatSteersATerminalIsEscaped) {
  EXPECT_EQ(shown("a\x1b[2Jb\a\x7f"), "a\\u001b[2Jb\\u0007\\u007f");
  EXPECT_EQ(shown("one\r\ntwo\t"), "one\\r\\ntwo\\t");
  EXPECT_EQ(shown(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(shown("\xc2\x9b"
                  "2J"),
            "\\u009b2J");  // C1's CSI
  EXPECT_EQ(shown("\xe2\x80\xae"
                  "txt.exe"),
            "\\u202etxt.exe");                             // right to left override
  EXPECT_EQ(shown("\xe2\x81\xa6"), "\\u2066");             // isolate
  EXPECT_EQ(shown("\xe2\x80\xa8"), "\\u2028");             // line separator
  EXPECT_EQ(shown("\xf3\xa0\x81\x81"), "\\udb40\\udc41");  // tag, U+E0041
}

TEST(Shown, WhatIsOnlyToBeReadStays) {
  for (const char* text : {"", "dgx1", "ring:4 <&\"'>", "J\xc3\xbcrgen", "\xe6\x97\xa5\xe6\x9c\xac",
                           "\xf0\x9f\x90\x8c", "C:\\n\\u001b"})
    EXPECT_EQ(shown(text), text);
}

TEST(Shown, BytesThatAreNoUtf8AreNamed) {
  EXPECT_EQ(shown("a\xff\xfe"), "a\\xff\\xfe");
  EXPECT_EQ(shown("\x9b"
                  "2J"),
            "\\x9b2J");                        // C1 in one byte
  EXPECT_EQ(shown("\xc0\x9b"), "\\xc0\\x9b");  // ESC in a form that is too long
  EXPECT_EQ(shown("\xe0\x80\x9b"), "\\xe0\\x80\\x9b");
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
  EXPECT_EQ(shown("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(shown("\xe2\x80"), "\\xe2\\x80");  // cut short
}

TEST(Shown, LinesOfOursKeepTheirNewlines) {
  EXPECT_EQ(shown_lines("a\x1b\nb\r\n"), "a\\u001b\nb\\r\n");
}

TEST(Shown, OnceIsEnough) {
  std::string all;
  for (int c = 0; c < 256; ++c) all += static_cast<char>(c);
  EXPECT_EQ(shown(shown(all)), shown(all));
  EXPECT_EQ(shown_lines(shown(all)), shown(all));
}

TEST(InputError, IsSafeToBeShown) {
  EXPECT_STREQ(InputError("\x1b]0;x\a.json", "has\nthis: \xe2\x80\xae", "no").what(),
               "\\u001b]0;x\\u0007.json: has this: \\u202e; no");
}

}  // namespace
}  // namespace chorale
