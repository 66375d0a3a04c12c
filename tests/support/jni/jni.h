/* As much of the Java Native Interface, by its specification, as docs/deploy.md uses. */
#ifndef AGO_TEST_JNI_H
#define AGO_TEST_JNI_H

#include <stdint.h>

#define JNIEXPORT __attribute__((visibility("default")))
#define JNICALL

typedef int32_t jint;
typedef int64_t jlong;
typedef struct object *jobject;
typedef jobject jclass;
typedef jobject jstring;
typedef const struct functions *JNIEnv;

struct functions {
    void *(*GetDirectBufferAddress)(JNIEnv *env, jobject buffer);
    jlong (*GetDirectBufferCapacity)(JNIEnv *env, jobject buffer);
    jstring (*NewStringUTF)(JNIEnv *env, const char *text);
};

#endif
