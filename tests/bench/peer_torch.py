#!/usr/bin/python3
"""PyTorch's side of ./gradus bench: the same models, sizes, first numbers and data as models.cpp, one case a process.

    peer_torch.py CASE [SIZE...]

One thread. Answers one line on stdout for each line on stdin: "loss" the loss of the untrained model, "run SECONDS" the
processor time of each step in that many seconds (at least one), "memory" megabytes at most in use and before the model
was made.
"""
import json
import math
import resource
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn


def peak_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def some_ids(shape, vocab):
    return ((torch.arange(math.prod(shape)) * 7919 + 13) % 104729 % vocab).view(*shape)


def fill(parameters):
    with torch.no_grad():
        for k, p in enumerate(parameters):
            i = torch.arange(p.numel(), dtype=torch.double)
            p.copy_((torch.sin(0.37 * i + k) / math.sqrt(p.shape[-1])).view(p.shape))


class Mlp(nn.Module):
    def __init__(self, batch=64):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
        self.x = torch.sin(torch.arange(batch * 784, dtype=torch.double) * 0.37).float().view(batch, 784)
        self.y = some_ids((batch,), 10)

    def loss(self):
        return F.cross_entropy(self.layers(self.x), self.y)


class Gru(nn.Module):
    def __init__(self, d, length, batch):
        super().__init__()
        self.embedding, self.gru, self.readout = nn.Embedding(64, 64), nn.GRU(64, d), nn.Linear(d, 64)
        ids = some_ids((batch, length + 1), 64).t()
        self.x, self.y = ids[:-1].contiguous(), ids[1:].reshape(-1)

    def loss(self):
        return F.cross_entropy(self.readout(self.gru(self.embedding(self.x))[0]).view(-1, 64), self.y)


class Translator(nn.Module):
    def __init__(self, d, length, batch):
        super().__init__()
        self.source, self.target = nn.Embedding(16, d), nn.Embedding(17, d)
        self.encoder = nn.GRU(d, d, batch_first=True)
        self.x = some_ids((batch, length), 16)
        self.previous = torch.cat([torch.full((batch, 1), 16), self.x[:, :-1]], 1).contiguous()

    def loss(self):
        return F.cross_entropy(self(self.x, self.previous).view(-1, 16), self.x.view(-1))


class Bahdanau(Translator):
    def __init__(self, d, length, batch):
        super().__init__(d, length, batch)
        self.W_a, self.U_a, self.v_a = nn.Linear(d, d, False), nn.Linear(d, d, False), nn.Parameter(torch.zeros(d))
        self.cell, self.readout = nn.GRUCell(2 * d, d), nn.Linear(2 * d, 16)

    def ordered(self):
        return [self.source, self.target, self.encoder, self.W_a, self.U_a, self.v_a, self.cell, self.readout]

    def forward(self, x, previous):
        H, last = self.encoder(self.source(x))
        keys, s, features = self.U_a(H), last[0], []
        for y in self.target(previous).unbind(1):
            scores = torch.matmul(torch.tanh(keys + self.W_a(s).unsqueeze(1)), self.v_a)
            context = torch.bmm(torch.softmax(scores, 1).unsqueeze(1), H).squeeze(1)
            s = self.cell(torch.cat([y, context], 1), s)
            features.append(torch.cat([s, context], 1))
        return self.readout(torch.stack(features, 1))


class LuongFeeding(Translator):
    def __init__(self, d, length, batch):
        super().__init__(d, length, batch)
        self.W_a, self.W_c = nn.Linear(d, d, False), nn.Linear(2 * d, d, False)
        self.cell, self.readout = nn.GRUCell(2 * d, d), nn.Linear(d, 16)

    def forward(self, x, previous):
        H, last = self.encoder(self.source(x))
        keys, s, outputs = self.W_a(H), last[0], []
        attentional = torch.zeros_like(s)
        for y in self.target(previous).unbind(1):
            s = self.cell(torch.cat([y, attentional], 1), s)
            weights = torch.softmax(torch.bmm(keys, s.unsqueeze(2)).squeeze(2), 1)
            context = torch.bmm(weights.unsqueeze(1), H).squeeze(1)
            attentional = torch.tanh(self.W_c(torch.cat([context, s], 1)))
            outputs.append(attentional)
        return self.readout(torch.stack(outputs, 1))


class LuongBatched(Translator):
    def __init__(self, d, length, batch):
        super().__init__(d, length, batch)
        self.W_a, self.W_c = nn.Linear(d, d, False), nn.Linear(2 * d, d, False)
        self.decoder, self.readout = nn.GRU(d, d, batch_first=True), nn.Linear(d, 16)

    def forward(self, x, previous):
        H, last = self.encoder(self.source(x))
        S, _ = self.decoder(self.target(previous), last)
        context = torch.bmm(torch.softmax(torch.bmm(S, self.W_a(H).transpose(1, 2)), 2), H)
        return self.readout(torch.tanh(self.W_c(torch.cat([context, S], 2))))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_inner = nn.LayerNorm(64), nn.LayerNorm(64)
        self.qkv, self.out, self.up, self.down = nn.Linear(64, 192), nn.Linear(64, 64), nn.Linear(64, 256), nn.Linear(256, 64)


class Transformer(nn.Module):
    def __init__(self, length=64, batch=16):
        super().__init__()
        self.embedding, self.position = nn.Embedding(64, 64), nn.Parameter(torch.zeros(length, 64))
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.last, self.readout = nn.LayerNorm(64), nn.Linear(64, 64)
        ids = some_ids((batch, length + 1), 64)
        self.x, self.y = ids[:, :-1].contiguous(), ids[:, 1:].reshape(-1)
        self.mask = torch.full((length, length), float('-inf')).triu(1)

    def ordered(self):
        return [self.embedding, self.position, self.layers, self.last, self.readout]

    def attend(self, layer, x):
        B, T, D = x.shape
        q, k, v = layer.qkv(x).view(B, T, 3, 4, 16).permute(2, 0, 3, 1, 4).unbind(0)
        weights = torch.softmax(torch.matmul(q * 0.25, k.transpose(-1, -2)) + self.mask, -1)
        return layer.out(torch.matmul(weights, v).transpose(1, 2).reshape(B, T, D))

    def loss(self):
        h = self.embedding(self.x) + self.position
        for layer in self.layers:
            h = h + self.attend(layer, layer.before_attention(h))
            h = h + layer.down(F.relu(layer.up(layer.before_inner(h))))
        return F.cross_entropy(self.readout(self.last(h)).view(-1, 64), self.y)


def in_order(model):
    """Parameters in the order in which models.h visits them: a module lists its bare ones first, which is not that."""
    if not hasattr(model, 'ordered'):
        return list(model.parameters())
    return [p for part in model.ordered() for p in ([part] if isinstance(part, nn.Parameter) else part.parameters())]


def training(model):
    parameters = in_order(model)
    fill(parameters)
    optimizer = torch.optim.Adam(parameters, lr=1e-3)

    def run():
        optimizer.zero_grad(set_to_none=True)
        model.loss().backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()

    return run, lambda: model.loss().item(), 1


def chain(kind, n):
    x, a, b = (torch.full((n,), value, requires_grad=True) for value in (0.5, 0.999, 1e-3))

    def run():
        x.grad = a.grad = b.grad = None
        y = x
        if kind == 'chain_tanh':
            for _ in range(1000):
                y = torch.tanh(y)
        else:
            for _ in range(500):
                y = y * a + b
        y.sum().backward()

    return run, None, 1000


def product(m, k, n):
    torch.manual_seed(1)
    a, b, c = torch.randn(m, k), torch.randn(k, n), torch.zeros(m, n)
    times = max(1, int(1e8 / (2 * m * n * k)))

    def run():
        for _ in range(times):
            torch.mm(a, b, out=c)

    return run, None, times


def gradcheck():
    torch.manual_seed(1)
    leaves = [torch.randn(*shape, dtype=torch.double, requires_grad=True) for shape in ((2, 5), (2, 7, 5), (4, 5), (4, 5), (4,))]

    def attention(s, H, W_a, U_a, v_a):
        scores = torch.tanh(H @ U_a.t() + (s @ W_a.t()).unsqueeze(1)) @ v_a
        weights = torch.softmax(scores, 1)
        return torch.bmm(weights.unsqueeze(1), H).squeeze(1), weights

    return lambda: torch.autograd.gradcheck(attention, leaves), None, 1


name, sizes = sys.argv[1], [int(word) for word in sys.argv[2:]]
torch.set_num_threads(1)
base = peak_mb()
models = {'mlp': Mlp, 'gru': Gru, 'bahdanau': Bahdanau, 'luong_feed': LuongFeeding, 'luong_batch': LuongBatched,
          'transformer': Transformer}
if name in models:
    run, loss, per_run = training(models[name](*sizes))
elif name.startswith('chain'):
    run, loss, per_run = chain(name, *sizes)
elif name == 'matmul':
    run, loss, per_run = product(*sizes)
else:
    run, loss, per_run = gradcheck()
for line in sys.stdin:
    words = line.split()
    if words[0] == 'loss':
        answer = loss() if loss else 0
    elif words[0] == 'memory':
        answer = [peak_mb(), base]
    else:
        answer, end = [], time.perf_counter() + float(words[1])
        while not answer or time.perf_counter() < end:
            start = time.process_time()
            run()
            answer.append((time.process_time() - start) / per_run)
    print(json.dumps(answer), flush=True)
