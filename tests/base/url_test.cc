// The expected parts are those that RFC 3986 gives each text.
#include "corisco/base/url.h"

#include <gtest/gtest.h>

namespace corisco {
namespace {
TEST(UrlTest, PartsOfAUrl) {
  const auto whole = parse_http_url("https://models.example:8443/api/v1/");
  ASSERT_TRUE(whole.ok());
  EXPECT_TRUE(whole.value().is_tls);
  EXPECT_EQ(whole.value().host, "models.example");
  EXPECT_EQ(whole.value().port, 8443);
  EXPECT_EQ(whole.value().path, "/api/v1");
  EXPECT_EQ(whole.value().authority(), "models.example:8443");
}

TEST(UrlTest, EachSchemeHasItsPort) {
  EXPECT_EQ(parse_http_url("http://a").value().port, 80);
  EXPECT_EQ(parse_http_url("http://a").value().authority(), "a");
  EXPECT_EQ(parse_http_url("https://a/v1").value().port, 443);
  EXPECT_EQ(parse_http_url("https://a:443/v1").value().authority(), "a");
  EXPECT_EQ(parse_http_url("https://a:80/v1").value().authority(), "a:80");
}

TEST(UrlTest, AnAddressOfVersionSix) {
  const auto url = parse_http_url("http://[::1]:8000").value();
  EXPECT_EQ(url.host, "::1");
  EXPECT_EQ(url.port, 8000);
  EXPECT_EQ(url.path, "");
  EXPECT_EQ(url.authority(), "[::1]:8000");
}

TEST(UrlTest, WhatIsNoUrlIsRefused) {
  for (const char* text : {"", "a", "ftp://a", "HTTPS//a", "http://", "http://:80", "http://a:", "http://a:0",
                           "http://a:65536", "http://a:8x", "http://a b/", "http://a/ b", "http://a/\r\nX: y",
                           "http://key@a/", "http://a/v1?x=1", "http://a/#x", "http://[::1", "http://[::1]x"})
    EXPECT_FALSE(parse_http_url(text).ok()) << text;
}
}  // namespace
}  // namespace corisco
