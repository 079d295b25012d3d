import { crc32, deflateSync, inflateSync } from 'node:zlib';

/** The maximal number of colours in a palette. */
const most = 256;

/** withPalette converts a screenshot into a PNG with at most 256 colours, which has about a third of the bytes. */
export function withPalette(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette = choose(counts);
  const nearest = new Map<number, number>();
  const indexed = Buffer.alloc((width + 1) * height); // each row begins with its filter: none
  for (let at = 0; at < pixels.length; at++) {
    const pixel = pixels[at] as number;
    let index = nearest.get(pixel);
    if (index === undefined) {
      index = nearestOf(palette, pixel);
      nearest.set(pixel, index);
    }
    indexed[at + Math.floor(at / width) + 1] = index;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // eight bits, palette
  const colours = Buffer.from(palette.flatMap((pixel) => [pixel >> 16, (pixel >> 8) & 255, pixel & 255]));
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', header),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(indexed, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/**
 * choose selects the colours: first those of the largest areas, then the shades of text by how often they occur,
 * beginning with shades that differ much.
 */
function choose(counts: Map<number, number>): number[] {
  const byUse = [...counts].sort(([, a], [, b]) => b - a).map(([pixel]) => pixel);
  const palette = byUse.slice(0, 48);
  for (const apart of [24, 12, 6, 0]) {
    for (const pixel of byUse) {
      if (palette.length === most) return palette;
      if (palette.every((other) => distance(other, pixel) > apart ** 2)) palette.push(pixel);
    }
  }
  return palette;
}

function distance(a: number, b: number): number {
  const red = (a >> 16) - (b >> 16);
  const green = ((a >> 8) & 255) - ((b >> 8) & 255);
  const blue = (a & 255) - (b & 255);
  return red * red + green * green + blue * blue;
}

function nearestOf(palette: number[], pixel: number): number {
  let best = 0;
  for (let i = 1; i < palette.length; i++) {
    if (distance(palette[i] as number, pixel) < distance(palette[best] as number, pixel)) best = i;
  }
  return best;
}

function chunk(type: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const body = Buffer.concat([Buffer.from(type), data]);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** decode reads the PNGs that the browser writes: eight bits per channel, RGB or RGBA, not interlaced. */
function decode(png: Buffer): { width: number; height: number; pixels: Uint32Array } {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const size = png[25] === 6 ? 4 : 3;
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const raw = inflateSync(Buffer.concat(parts));
  const stride = width * size;
  const pixels = new Uint32Array(width * height);
  let above: Buffer = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const start = y * (stride + 1);
    const row = unfilter(raw[start] as number, raw.subarray(start + 1, start + 1 + stride), above, size);
    for (let x = 0; x < width; x++) pixels[y * width + x] = row.readUIntBE(x * size, 3);
    above = row;
  }
  return { width, height, pixels };
}

function unfilter(filter: number, row: Buffer, above: Buffer, size: number): Buffer {
  const out = Buffer.alloc(row.length);
  for (let x = 0; x < row.length; x++) {
    const left = x >= size ? (out[x - size] as number) : 0;
    const up = above[x] as number;
    const corner = x >= size ? (above[x - size] as number) : 0;
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] as number;
    out[x] = ((row[x] as number) + guess) & 255;
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const base = left + up - corner;
  const [l, u, c] = [Math.abs(base - left), Math.abs(base - up), Math.abs(base - corner)];
  if (l <= u && l <= c) return left;
  return u <= c ? up : corner;
}
