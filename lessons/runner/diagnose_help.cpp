// The long help of `diagnose`.
#include "lessons/runner/diagnose_help.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "lessons/common/terminal.h"
#include "nn/conventions/formulas.h"
#include "nn/conventions/hypotheses.h"
#include "nn/conventions/trace_names.h"

namespace gradus {

namespace {

using diagnosis::TraceName;

constexpr const char* pytorch = R"(import numpy as np, os, json
os.makedirs("dump", exist_ok=True)
def save(name, x): np.save(f"dump/{name}.npy", x.detach().cpu().numpy())
for name, p in model.named_parameters(): save(name, p)   # weight_ih_l0, ...
save("H", encoder_outputs); save("mask", source_mask)    # true = a real token
save("y_emb", target_embeddings)
save("s", torch.stack([s_0] + states, 1))                # s[:, 0] is s_0
save("alpha", torch.stack(weights, 1)); save("c", torch.stack(contexts, 1))
save("logits", torch.stack(logits, 1))
json.dump({"claims": "bahdanau2014"}, open("dump/meta.json", "w"))
)";

constexpr const char* keras = R"(import numpy as np, os, json
os.makedirs("dump", exist_ok=True)
def save(name, x): np.save(f"dump/{name}.npy", np.asarray(x))
for name, w in zip(("kernel", "recurrent_kernel", "bias"),
                   decoder.gru.get_weights()): save(name, w)  # turned later
save("query_layer.kernel", W1.kernel); save("memory_layer.kernel", W2.kernel)
save("attention_v", V.kernel); save("H", enc_output); save("mask", mask)
save("y_emb", embedded); save("s", tf.stack([s_0] + states, 1))
save("alpha", tf.stack(weights, 1)); save("c", tf.stack(contexts, 1))
json.dump({"claims": "bahdanau2014"}, open("dump/meta.json", "w"))
)";

constexpr const char* numpy = R"(import numpy as np, os, json
os.makedirs("dump", exist_ok=True)
arrays = dict(H=H, mask=mask, y_emb=y_emb, W_a=W_a, U_a=U_a, v_a=v_a,
              s=np.stack([s_0] + states, axis=1),
              alpha=np.stack(weights, axis=1),
              c=np.stack(contexts, axis=1))
for name, x in arrays.items():
    np.save(f"dump/{name}.npy", x)
json.dump({"claims": "bahdanau2014"}, open("dump/meta.json", "w"))
)";

std::string said(Lang lang, const char* en, const char* zh) { return lang == Lang::zh ? zh : en; }

// Two columns, the right one wrapped.
void entry(std::string& out, const std::string& left, const std::string& right, int width = 34) {
  const std::string text = wrap_to_width(right, 79 - width);
  std::string first = "  " + left;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string row = pad_right(first, width) + " " + text.substr(at, end - at);
    row.resize(row.find_last_not_of(' ') + 1);
    out += row + "\n";
    first.clear();
    at = end + 1;
  }
}

void paragraph(std::string& out, const std::string& text) { out += "\n" + wrap_to_width(text, 80) + "\n"; }

// Cells are known by what PyTorch calls their weights, and by our letters.
void list(std::string& out, const std::vector<TraceName>& names, Lang lang, bool cells = false) {
  for (const TraceName& n : names) {
    std::vector<std::string> others(n.others.begin(), n.others.end());
    std::string name = n.name;
    if (cells) std::swap(name, others[0]);
    std::string text = n.role.in(lang), also;
    for (std::string& other : others) {
      if (other.ends_with("*")) other.back() = '\'';
      also += (also.empty() ? "" : ", ") + other;
    }
    if (!also.empty()) text += (text.empty() ? "" : said(lang, "; ", "；")) + said(lang, "also ", "又名 ") + also;
    entry(out, name + " " + n.shape, text);
  }
}

std::string outputs(const std::vector<TraceName>& names) {
  std::string all;
  for (const TraceName& n : names)
    if (n.output) all += (all.empty() ? "grad_" : " grad_") + std::string(n.name);
  return all;
}

void gradients(std::string& out, Lang lang) {
  paragraph(
      out, said(lang,
                "Gradients: grad_NAME, in the shape of NAME, of parameters and inputs. Where backward started from has "
                "to be there too, as the gradients of outputs:",
                "梯度：grad_NAME，形状同 NAME，可为参数与输入的梯度。还需要反向的起点，即输出的梯度："));
  entry(out, said(lang, "a decoder", "解码器"), outputs(diagnosis::decoder_names()), 16);
  entry(out, said(lang, "a cell alone", "单独的循环单元"), outputs(diagnosis::recurrent_names()), 16);
  entry(out, said(lang, "heads", "多头注意力"), outputs(diagnosis::multi_head_names()), 16);
  out +=
      wrap_to_width(
          said(lang,
               "Each is what the loss itself gives that output (the cotangent), without what later steps send back: "
               "grad_s, with or without a row for s_0, is not the .grad of each state. With a loss on the logits "
               "alone, grad_logits is enough. Where this does not fit, the last output alone is tried as the start, "
               "and grad_s as all that flows back into each state; which one fits is said.",
               "每个都是损失自身给该输出的梯度，不含后续步回传的部分：grad_s（可带也可不带 s_0 那一行）不是每个状态的 "
               ".grad。损失只读 logits 时，给出 grad_logits 即可。若不相符，再试只从最后的输出开始，以及把 grad_s "
               "当作流回每个状态的全部梯度；会说明哪一种相符。"),
          80) +
      "\n";
}

void meta(std::string& out, Lang lang) {
  out += said(lang, "\nmeta.json, or a .safetensors file's metadata; all of it may be left out:\n",
              "\nmeta.json，或 .safetensors 文件的元数据；都可省略：\n");
  const auto key = [&](const char* name, const char* en, const char* zh) { entry(out, name, said(lang, en, zh), 16); };
  key("\"claims\"", "what the model says it is, from the list below", "模型声称的约定，见下");
  key("\"gate_order\"",
      "of stacked weights, such as \"r,z,n\" (PyTorch), \"z,r,n\" (Keras, ONNX), \"i,f,g,o\" (PyTorch, Keras), "
      "\"i,o,f,g\" (ONNX), \"i,g,f,o\" (TensorFlow 1). A GRU's gates are r, z (or u) and n (or h, c), an LSTM's i, f, "
      "g "
      "(or j, c) and o, in any order; without it all orders are tried",
      "合并权重中门的顺序，如 "
      "\"r,z,n\"（PyTorch）、\"z,r,n\"（Keras、ONNX）、\"i,f,g,o\"（PyTorch、Keras）、\"i,o,f,g\""
      "（ONNX）、\"i,g,f,o\"（TensorFlow 1）。GRU 的门是 r、z（或 u）、n（或 h、c），LSTM 的是 i、f、g（或 j、c）、o，"
      "顺序任意；省略则全部尝试");
  key("\"layout\"", "\"time_major\": sequences are (T, B, ...); a mask may be (B, T) or (T, B)",
      "\"time_major\"：序列为 (T, B, ...)；掩码可以是 (B, T) 或 (T, B)");
  key("\"heads\"", "how many, where alpha is averaged over them", "头数，在 alpha 对各头取平均时需要");
  key("\"topic\"", "one of the single formulas, where the names alone do not say",
      "单个公式的名称，在数组名不足以判断时需要");
}

void topics(std::string& out, Lang lang) {
  paragraph(out,
            said(lang,
                 "Single formulas, each a trace of its own. The encoder is no part of a decoder's trace (it is a cell "
                 "alone), nor is the optimiser:",
                 "单个公式，各自成一份数据。编码器不属于解码器的数据（它是单独的循环单元），优化器也不属于："));
  for (const diagnosis::TopicNames& t : diagnosis::topic_names()) {
    std::string needs;
    for (const std::string& name : t.needs) needs += name + " ";
    std::string made;
    for (const std::string& name : t.outputs)
      if (std::find(t.needs.begin(), t.needs.end(), name) == t.needs.end())
        made += (made.empty() ? "" : said(lang, " or ", " 或 ")) + name;
    entry(out, t.name, needs + made, 20);
  }
}

}  // namespace

std::string diagnose_help(Lang lang) {
  std::string out;
  paragraph(
      out,
      said(lang,
           "FILE holds what one run of a model computed: batch first, float32 or float64, weights (out, in). Two "
           "or three examples of different lengths and three or four steps tell as much as large ones. Without "
           "some of these arrays there is an answer about the rest. A name may have a path in front "
           "(decoder.attn.W_a) and .weight or .bias behind; names with ' are stored transposed.",
           "FILE 是模型一次运行的结果：批在前，float32 或 float64，权重 (out, in)。两三个长短不同的样本、三四步就够了。"
           "缺少某些数组也可以，结论会相应减少。名称前可有路径（decoder.attn.W_a），后可有 .weight 或 .bias；"
           "带 ' 的名称按转置存放。"));
  paragraph(out, said(lang, "A decoder with attention: H, and at least one of s, alpha, c, e, htilde, logits:",
                      "带注意力的解码器：H，以及 s、alpha、c、e、htilde、logits 中至少一个："));
  list(out, diagnosis::decoder_names(), lang);
  paragraph(out, said(lang, "Its cell, or a cell alone (d is a decoder's d_s; layers and directions: _l1, _reverse):",
                      "解码器的循环单元，或单独的循环单元（d 即解码器的 d_s；各层与方向加 _l1、_reverse）："));
  list(out, diagnosis::cell_names(), lang, true);
  paragraph(out,
            said(lang, "A cell alone, beside these: x, and h or h_n:", "单独的循环单元还要有：x，以及 h 或 h_n："));
  list(out, diagnosis::recurrent_names(), lang);
  paragraph(out, said(lang, "Attention in heads: query, a projection, and alpha or output:",
                      "多头注意力：query、投影，以及 alpha 或 output："));
  list(out, diagnosis::multi_head_names(), lang);
  gradients(out, lang);
  topics(out, lang);
  meta(out, lang);
  out += said(lang, "\nclaims (--claims):\n", "\n可以声称的约定（--claims）：\n");
  for (const diagnosis::Claim& claim : diagnosis::claims()) entry(out, claim.name, claim.title.in(lang), 22);
  entry(out, "keras, onnx",
        said(lang, "the one of these that goes with the parameters, or else with the numbers",
             "其中与参数相符的一个，否则取与数值相符的"),
        22);
  out += said(lang, "\nFrom PyTorch:\n\n", "\nPyTorch：\n\n") + pytorch;
  out += said(lang, "\nFrom TensorFlow and Keras:\n\n", "\nTensorFlow 与 Keras：\n\n") + keras;
  out += said(lang, "\nFrom NumPy:\n\n", "\nNumPy：\n\n") + numpy;
  return out;
}

}  // namespace gradus
