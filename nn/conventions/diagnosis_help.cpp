// The help of `diagnose`: how to dump a trace, the names, the claims.
#include <string>

#include "nn/conventions/diagnosis.h"

namespace gradus::diagnosis {

namespace {

const char* pytorch = R"(import numpy as np, os, json
os.makedirs("dump", exist_ok=True)
def save(name, x): np.save(f"dump/{name}.npy", x.detach().cpu().numpy())
for name, p in model.named_parameters(): save(name, p)        # weight_ih_l0, W_a.weight, ... are understood
save("H", encoder_outputs)          # (B, T_enc, d_h), batch first
save("mask", source_mask)           # (B, T_enc), true = a real token
save("y_emb", target_embeddings)    # (B, T_dec, d_emb)
save("s", torch.stack([s_0] + states, 1))      # (B, T_dec + 1, d_s): s[:, 0] is s_0
save("alpha", torch.stack(weights, 1)); save("c", torch.stack(contexts, 1)); save("logits", torch.stack(logits, 1))
json.dump({"claims": "bahdanau2014"}, open("dump/meta.json", "w"))
)";

const char* keras = R"(import numpy as np, os, json
os.makedirs("dump", exist_ok=True)
def save(name, x): np.save(f"dump/{name}.npy", np.asarray(x))
kernel, recurrent_kernel, bias = decoder.gru.get_weights()    # gates z, r, h; row vectors: turned when read
save("kernel", kernel); save("recurrent_kernel", recurrent_kernel); save("bias", bias)
save("query_layer.kernel", W1.kernel); save("memory_layer.kernel", W2.kernel); save("attention_v", V.kernel)
save("H", enc_output); save("mask", mask); save("y_emb", embedded)
save("s", tf.stack([s_0] + states, 1)); save("alpha", tf.stack(weights, 1)); save("c", tf.stack(contexts, 1))
json.dump({"claims": "bahdanau2014"}, open("dump/meta.json", "w"))
)";

const char* numpy = R"(import numpy as np, os, json
os.makedirs("dump", exist_ok=True)
arrays = dict(H=H, mask=mask, y_emb=y_emb, W_a=W_a, U_a=U_a, v_a=v_a,
              s=np.stack([s_0] + states, axis=1),         # (B, T_dec + 1, d_s)
              alpha=np.stack(weights, axis=1),            # alpha[:, t] belongs to the step that consumes y_emb[:, t]
              c=np.stack(contexts, axis=1))
for name, x in arrays.items():
    np.save(f"dump/{name}.npy", x)
json.dump({"claims": "bahdanau2014"}, open("dump/meta.json", "w"))
)";

}  // namespace

std::string diagnosis_help(Lang lang) {
  const bool zh = lang == Lang::zh;
  std::string names;
  for (const Claim& claim : claims()) names += std::string("  ") + claim.name + "  " + claim.title.in(lang) + "\n";
  std::string text;
  text +=
      zh ? "diagnose FILE：读取一个模型的数据，说明它遵循哪种约定、哪里偏离了所声称的论文。\n"
           "FILE 是一个 .npy 目录（可带 meta.json），或一个 .safetensors 文件。\n\n"
         : "diagnose FILE reads the trace of a model and says which convention it follows and what deviates from the "
           "paper\n"
           "that it claims. FILE is a directory of .npy files, with meta.json if you like, or a .safetensors file.\n\n";
  text += zh ? "解码器：H mask（或 lengths）y_emb s alpha c htilde logits；参数 W_a U_a v_a W_c b_c W_o b_o；\n"
               "循环单元 W_ih W_hh b_ih b_hh，或按门给出 W_r W_z W_n U_r U_z U_n b_r b_z b_n。\n"
               "单独的循环单元：x h h0 c0 与上述权重。多头注意力：query memory in_proj_weight out_proj.weight alpha "
               "output。\n"
               "梯度：grad_名称。缺少某些数组也可以，结论会相应减少。\n"
             : "A decoder: H, mask (or lengths), y_emb, s, alpha, c, htilde, logits; parameters W_a U_a v_a W_c b_c "
               "W_o b_o; the\n"
               "cell W_ih W_hh b_ih b_hh, or gate by gate W_r W_z W_n U_r U_z U_n b_r b_z b_n. A cell alone: x, h, h0, "
               "c0 and its\n"
               "weights. Heads: query, memory, in_proj_weight, out_proj.weight, alpha, output. Gradients: grad_NAME. A "
               "trace\n"
               "without some of these gives an answer about the rest. docs/diagnosis.md has the shapes and the other "
               "spellings.\n";
  text += (zh ? "\nPyTorch:\n\n" : "\nFrom PyTorch:\n\n") + std::string(pytorch);
  text += (zh ? "\nTensorFlow/Keras:\n\n" : "\nFrom TensorFlow and Keras:\n\n") + std::string(keras);
  text += (zh ? "\nNumPy:\n\n" : "\nFrom NumPy:\n\n") + std::string(numpy);
  text += (zh ? "\n可以声称的约定（--claims）：\n" : "\nWhat can be claimed (--claims):\n") + names;
  text += zh ? "\n返回值：0 没有错误，1 有错误，2 无法核对，3 文件不可用。\n"
             : "\nExit status: 0 no mistake, 1 a mistake, 2 nothing could be checked, 3 the file cannot be used.\n";
  return text;
}

}  // namespace gradus::diagnosis
