/*
 * depthwise, for avx512
 *   input x [3, 3, 5]
 *   constant w [3, 3, 5]
 *   constant b [5]
 *   output out [3, 3, 5]
 *   register acc [3, 16]
 */
void depthwise(
    const float *restrict x,
    const float *restrict w,
    const float *restrict b,
    float *restrict out) {
    const __m512 k0 = _mm512_set1_ps(0.0f);
    const __m512 k6 = _mm512_set1_ps(6.0f);
    /* dw */
    const __m512 b_v = _mm512_maskz_loadu_ps(0x001f, b);
    __m512 acc_0 = b_v;
    __m512 acc_1 = b_v;
    __m512 acc_2 = b_v;
    const __m512 w_v = _mm512_maskz_loadu_ps(0x001f, w);
    acc_0 = _mm512_fmadd_ps(k0, w_v, acc_0);
    acc_1 = _mm512_fmadd_ps(k0, w_v, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v, acc_2);
    const __m512 w_v_1 = _mm512_maskz_loadu_ps(0x001f, w + 5);
    acc_0 = _mm512_fmadd_ps(k0, w_v_1, acc_0);
    acc_1 = _mm512_fmadd_ps(k0, w_v_1, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_1, acc_2);
    const __m512 w_v_2 = _mm512_maskz_loadu_ps(0x001f, w + 10);
    acc_0 = _mm512_fmadd_ps(k0, w_v_2, acc_0);
    acc_1 = _mm512_fmadd_ps(k0, w_v_2, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_2, acc_2);
    const __m512 w_v_3 = _mm512_maskz_loadu_ps(0x001f, w + 15);
    acc_0 = _mm512_fmadd_ps(k0, w_v_3, acc_0);
    const __m512 x_v = _mm512_maskz_loadu_ps(0x001f, x);
    acc_1 = _mm512_fmadd_ps(x_v, w_v_3, acc_1);
    const __m512 x_v_1 = _mm512_maskz_loadu_ps(0x001f, x + 5);
    acc_2 = _mm512_fmadd_ps(x_v_1, w_v_3, acc_2);
    const __m512 w_v_4 = _mm512_maskz_loadu_ps(0x001f, w + 20);
    acc_0 = _mm512_fmadd_ps(x_v, w_v_4, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_1, w_v_4, acc_1);
    const __m512 x_v_2 = _mm512_maskz_loadu_ps(0x001f, x + 10);
    acc_2 = _mm512_fmadd_ps(x_v_2, w_v_4, acc_2);
    const __m512 w_v_5 = _mm512_maskz_loadu_ps(0x001f, w + 25);
    acc_0 = _mm512_fmadd_ps(x_v_1, w_v_5, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_2, w_v_5, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_5, acc_2);
    const __m512 w_v_6 = _mm512_maskz_loadu_ps(0x001f, w + 30);
    acc_0 = _mm512_fmadd_ps(k0, w_v_6, acc_0);
    const __m512 x_v_3 = _mm512_maskz_loadu_ps(0x001f, x + 15);
    acc_1 = _mm512_fmadd_ps(x_v_3, w_v_6, acc_1);
    const __m512 x_v_4 = _mm512_maskz_loadu_ps(0x001f, x + 20);
    acc_2 = _mm512_fmadd_ps(x_v_4, w_v_6, acc_2);
    const __m512 w_v_7 = _mm512_maskz_loadu_ps(0x001f, w + 35);
    acc_0 = _mm512_fmadd_ps(x_v_3, w_v_7, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_4, w_v_7, acc_1);
    const __m512 x_v_5 = _mm512_maskz_loadu_ps(0x001f, x + 25);
    acc_2 = _mm512_fmadd_ps(x_v_5, w_v_7, acc_2);
    const __m512 w_v_8 = _mm512_maskz_loadu_ps(0x001f, w + 40);
    acc_0 = _mm512_fmadd_ps(x_v_4, w_v_8, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_5, w_v_8, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_8, acc_2);
    /* out */
    _mm512_mask_storeu_ps(out, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_0)));
    _mm512_mask_storeu_ps(out + 5, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_1)));
    _mm512_mask_storeu_ps(out + 10, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_2)));
    /* dw */
    acc_0 = b_v;
    acc_1 = b_v;
    acc_2 = b_v;
    acc_0 = _mm512_fmadd_ps(k0, w_v, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v, w_v, acc_1);
    acc_2 = _mm512_fmadd_ps(x_v_1, w_v, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v, w_v_1, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_1, w_v_1, acc_1);
    acc_2 = _mm512_fmadd_ps(x_v_2, w_v_1, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_1, w_v_2, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_2, w_v_2, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_2, acc_2);
    acc_0 = _mm512_fmadd_ps(k0, w_v_3, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_3, w_v_3, acc_1);
    acc_2 = _mm512_fmadd_ps(x_v_4, w_v_3, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_3, w_v_4, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_4, w_v_4, acc_1);
    acc_2 = _mm512_fmadd_ps(x_v_5, w_v_4, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_4, w_v_5, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_5, w_v_5, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_5, acc_2);
    acc_0 = _mm512_fmadd_ps(k0, w_v_6, acc_0);
    const __m512 x_v_6 = _mm512_maskz_loadu_ps(0x001f, x + 30);
    acc_1 = _mm512_fmadd_ps(x_v_6, w_v_6, acc_1);
    const __m512 x_v_7 = _mm512_maskz_loadu_ps(0x001f, x + 35);
    acc_2 = _mm512_fmadd_ps(x_v_7, w_v_6, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_6, w_v_7, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_7, w_v_7, acc_1);
    const __m512 x_v_8 = _mm512_maskz_loadu_ps(0x001f, x + 40);
    acc_2 = _mm512_fmadd_ps(x_v_8, w_v_7, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_7, w_v_8, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_8, w_v_8, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_8, acc_2);
    /* out */
    _mm512_mask_storeu_ps(out + 15, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_0)));
    _mm512_mask_storeu_ps(out + 20, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_1)));
    _mm512_mask_storeu_ps(out + 25, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_2)));
    /* dw */
    acc_0 = b_v;
    acc_1 = b_v;
    acc_2 = b_v;
    acc_0 = _mm512_fmadd_ps(k0, w_v, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_3, w_v, acc_1);
    acc_2 = _mm512_fmadd_ps(x_v_4, w_v, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_3, w_v_1, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_4, w_v_1, acc_1);
    acc_2 = _mm512_fmadd_ps(x_v_5, w_v_1, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_4, w_v_2, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_5, w_v_2, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_2, acc_2);
    acc_0 = _mm512_fmadd_ps(k0, w_v_3, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_6, w_v_3, acc_1);
    acc_2 = _mm512_fmadd_ps(x_v_7, w_v_3, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_6, w_v_4, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_7, w_v_4, acc_1);
    acc_2 = _mm512_fmadd_ps(x_v_8, w_v_4, acc_2);
    acc_0 = _mm512_fmadd_ps(x_v_7, w_v_5, acc_0);
    acc_1 = _mm512_fmadd_ps(x_v_8, w_v_5, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_5, acc_2);
    acc_0 = _mm512_fmadd_ps(k0, w_v_6, acc_0);
    acc_1 = _mm512_fmadd_ps(k0, w_v_6, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_6, acc_2);
    acc_0 = _mm512_fmadd_ps(k0, w_v_7, acc_0);
    acc_1 = _mm512_fmadd_ps(k0, w_v_7, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_7, acc_2);
    acc_0 = _mm512_fmadd_ps(k0, w_v_8, acc_0);
    acc_1 = _mm512_fmadd_ps(k0, w_v_8, acc_1);
    acc_2 = _mm512_fmadd_ps(k0, w_v_8, acc_2);
    /* out */
    _mm512_mask_storeu_ps(out + 30, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_0)));
    _mm512_mask_storeu_ps(out + 35, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_1)));
    _mm512_mask_storeu_ps(out + 40, 0x001f, _mm512_min_ps(k6, _mm512_max_ps(k0, acc_2)));
}
