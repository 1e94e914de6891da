// libcurl sets and reads options through variadic functions, which Swift does not import. These wrappers give each kind of
// option one plain function; everything else is used as libcurl declares it.
#ifndef CCURL_SHIM_H
#define CCURL_SHIM_H

#include <curl/curl.h>

typedef size_t (*ccurl_data_function)(char *data, size_t size, size_t count, void *user);
typedef int (*ccurl_progress_function)(void *user, curl_off_t downTotal, curl_off_t down, curl_off_t upTotal, curl_off_t up);
typedef int (*ccurl_prerequest_function)(void *user, char *remote, char *local, int remotePort, int localPort);
typedef curl_socket_t (*ccurl_open_function)(void *user, curlsocktype purpose, struct curl_sockaddr *address);
typedef int (*ccurl_close_function)(void *user, curl_socket_t socket);

static inline CURLcode ccurl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_offset(CURL *easy, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_string(CURL *easy, CURLoption option, const char *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_pointer(CURL *easy, CURLoption option, void *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_data_function(CURL *easy, CURLoption option, ccurl_data_function value) {
    return curl_easy_setopt(easy, option, value);
}

static inline CURLcode ccurl_set_progress_function(CURL *easy, ccurl_progress_function value) {
    return curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, value);
}

static inline CURLcode ccurl_set_prerequest_function(CURL *easy, ccurl_prerequest_function value) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, value);
}

static inline CURLcode ccurl_set_open_function(CURL *easy, ccurl_open_function value) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, value);
}

static inline CURLcode ccurl_set_close_function(CURL *easy, ccurl_close_function value) {
    return curl_easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, value);
}

static inline CURLcode ccurl_get_long(CURL *easy, CURLINFO info, long *value) {
    return curl_easy_getinfo(easy, info, value);
}

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

// CURLMsg keeps its result in a union behind a pointer; this reads the one member that is ever used.
static inline CURLcode ccurl_message_result(const CURLMsg *message) {
    return message->data.result;
}

#endif
