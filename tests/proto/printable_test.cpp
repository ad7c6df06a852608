// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/printable.h"

#include <gtest/gtest.h>

#include "colltune/vocabulary/utf8.h"

namespace colltune {
namespace {

TEST(Printable, EscapesWhatATerminalObeys) {
  EXPECT_EQ(printable("plain, größer, 漢字 😀\n\tnext"), "plain, größer, 漢字 😀\n\tnext");
  EXPECT_EQ(printable("a\nb\t", LineEnds::escape), "a\\u000ab\\u0009");
  EXPECT_EQ(printable("\x1b[31m\x07\r\x7f"), "\\u001b[31m\\u0007\\u000d\\u007f");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\u0000b");
  EXPECT_EQ(printable("\xc2\x9b" "31m"), "\\u009b31m");           // CSI of C1
  EXPECT_EQ(printable("a\xe2\x80\xae" "b"), "a\\u202eb");         // right-to-left override
  EXPECT_EQ(printable("\xe2\x81\xa6\xd8\x9c"), "\\u2066\\u061c");  // isolate, mark
  EXPECT_EQ(printable("\x9b" "31m \xff\xc3"), "\\x9b31m \\xff\\xc3");
  EXPECT_EQ(printable(" ~\x7f~ \xc3\xa9 \x1f "), " ~\\u007f~ \xc3\xa9 \\u001f ");  // at the ends of ASCII
  EXPECT_EQ(printable(""), "");
}

TEST(Utf8, IsWhatTheStandardAllows) {
  for (const char* text : {"", "a", "\xc2\x80", "\xed\x9f\xbf", "\xee\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;
  for (const char* text : {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
                           "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc3",
                           "\xe2\x82", "\xe2(\xa1", "a\xff"})
    EXPECT_FALSE(is_utf8(text)) << text;
}

}  // namespace
}  // namespace colltune
