//! Screens of `corewise topology`: hybrid cores, nodes without memory or cpus, offline and isolated cpus.

use insta::assert_snapshot;

use super::document;
use super::screen::draw_screen;
use crate::draw::fixtures::fabricated::list as fabricated_list;
use crate::draw::fixtures::fabricated::*;
use crate::draw::fixtures::hostile;
use crate::draw::machine::draw_picture;
use crate::draw::text::TextScreen;

#[test]
fn nodes_without_memory_and_memory_without_cpus() {
    assert_snapshot!(draw_screen(&memoryless_nodes(), None, 80).to_plain(), @r"
    AMD Ryzen Threadripper 3960X · 24 cores, 48 cpus · Linux 6.18.2

    package:0
      node:0 · no memory
        llc:0          16 MB L3   0  1  2  with 24-26
        llc:1          16 MB L3   3  4  5  with 27-29
      node:1 · 64 GB
        llc:2          16 MB L3   6  7  8  with 30-32
        llc:3          16 MB L3   9 10 11  with 33-35
      node:2 · 64 GB
        llc:4          16 MB L3  12 13 14  with 36-38
        llc:5          16 MB L3  15 16 17  with 39-41
      node:3 · no memory
        llc:6          16 MB L3  18 19 20  with 42-44
        llc:7          16 MB L3  21 22 23  with 45-47
    node:4 (number 8)  128 GB    no cpus
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB
    offline  48,49
    isolated  2,26
    nohz_full  2,26
    not allowed here  24-47  (cpuset or affinity of this process)

    Processor  AMD Ryzen Threadripper 3960X 24-Core Processor · AuthenticAMD ·
      family 26 (0x1a) · model 68 (0x44) · stepping 0 · microcode 0xb404032 · x86_64
      · governor performance · fingerprint 8740fdf957247a7c

    Levels
      level    objects  cpus each  cpus
      package        1         48  0-47
      node           5    0 to 12  0-5,24-29  6-11,30-35  12-17,36-41  18-23,42-47
      die            1         48  0-47
      llc            8          6  0-2,24-26  3-5,27-29  6-8,30-32  9-11,33-35  12-…
      cluster       24          2  0,24  1,25  2,26  3,27  4,28  5,29  6,30  7,31  …
      core          24          2  0,24  1,25  2,26  3,27  4,28  5,29  6,30  7,31  …
      cpu           48          1  0-47

    Caches
      cache   size  count  cpus each  cpus
      L1d    48 KB     24          2  0,24  1,25  2,26  3,27  4,28  5,29  6,30  7,3…
      L1i    32 KB     24          2  0,24  1,25  2,26  3,27  4,28  5,29  6,30  7,3…
      L2      1 MB     24          2  0,24  1,25  2,26  3,27  4,28  5,29  6,30  7,3…
      L3     16 MB      8          6  0-2,24-26  3-5,27-29  6-8,30-32  9-11,33-35  …

    Kinds  all cores are of one kind

    Nodes, by the system's numbers (5 nodes); distances, 10 is near
      node  memory  cpus          0   1   2   3   8
      0        0 B  0-5,24-29    10  12  12  12
      1      64 GB  6-11,30-35   12  10  12  12
      2      64 GB  12-17,36-41  12  12  10  12
      3        0 B  18-23,42-47  12  12  12  10
      8     128 GB  no cpus      20  20  20  20  20
    ");
}

#[test]
fn nodes_without_memory_at_40_columns() {
    assert_snapshot!(draw_screen(&memoryless_nodes(), None, 40).to_plain(), @r"
    AMD Ryzen Threadripper 3960X ·
      24 cores, 48 cpus · Linux 6.18.2

    package:0
      node:0 · no memory
        llc:0 · 16 MB L3
           0  1  2  with 24-26
        llc:1 · 16 MB L3
           3  4  5  with 27-29
      node:1 · 64 GB
        llc:2 · 16 MB L3
           6  7  8  with 30-32
        llc:3 · 16 MB L3
           9 10 11  with 33-35
      node:2 · 64 GB
        llc:4 · 16 MB L3
          12 13 14  with 36-38
        llc:5 · 16 MB L3
          15 16 17  with 39-41
      node:3 · no memory
        llc:6 · 16 MB L3
          18 19 20  with 42-44
        llc:7 · 16 MB L3
          21 22 23  with 45-47
    node:4 (number 8) · 128 GB
      no cpus
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB
    offline  48,49
    isolated  2,26
    nohz_full  2,26
    not allowed here  24-47  (cpuset or
                      affinity of this
                      process)

    Processor  AMD Ryzen Threadripper 3960X
      24-Core Processor · AuthenticAMD ·
      family 26 (0x1a) · model 68 (0x44) ·
      stepping 0 · microcode 0xb404032 ·
      x86_64 · governor performance ·
      fingerprint 8740fdf957247a7c

    Levels
      level    objects  cpus each
      package        1         48
      node           5    0 to 12
      die            1         48
      llc            8          6
      cluster       24          2
      core          24          2
      cpu           48          1
      Hidden at this width: cpus

    Caches
      cache   size  count  cpus each
      L1d    48 KB     24          2
      L1i    32 KB     24          2
      L2      1 MB     24          2
      L3     16 MB      8          6
      Hidden at this width: cpus

    Kinds  all cores are of one kind

    Nodes, by the system's numbers (5
      nodes); distances, 10 is near
      node  memory  cpus       0   1   2   3
      0        0 B  0-5,24-…  10  12  12  12
      1      64 GB  6-11,30…  12  10  12  12
      2      64 GB  12-17,3…  12  12  10  12
      3        0 B  18-23,4…  12  12  12  10
      8     128 GB  no cpus   20  20  20  20
      Hidden at this width: 8
    ");
}

#[test]
fn hybrid_cores_stand_by_their_kind() {
    assert_snapshot!(draw_screen(&hybrid(), None, 80).to_plain(), @r"
    13th Gen Intel Core i7-1370P · 14 cores, 20 cpus · Linux 6.18.2

    package:0 · node:0 · llc:0 · 64 GB · 24 MB L3
      performance                        0-1 2-3 4-5 6-7 8-9 10-11
      cluster:6    2 MB L2 · efficiency  12 13 14 15
      cluster:7    2 MB L2 · efficiency  16 17 18 19
    caches  L1d 48 KB (0-11), 32 KB (12-19) ·
            L2 1.2 MB (0-11), 2 MB per 4 cores (12-19)

    Processor  13th Gen Intel(R) Core(TM) i7-1370P · AuthenticAMD · family 26 (0x1a)
      · model 68 (0x44) · stepping 0 · microcode 0xb404032 · x86_64 · governor
      performance · fingerprint 85d4a28861bfca56

    Levels
      level    objects  cpus each  cpus
      package        1         20  0-19
      node           1         20  0-19
      die            1         20  0-19
      llc            1         20  0-19
      cluster        8     2 to 4  0,1  2,3  4,5  6,7  8,9  10,11  12-15  16-19
      core          14     1 to 2  0,1  2,3  4,5  6,7  8,9  10,11  12  13  14  15  …
      cpu           20          1  0-19

    Caches
      cache    size  count  cpus each  cpus
      L1d     48 KB      6          2  0,1  2,3  4,5  6,7  8,9  10,11
      L1d     32 KB      8          1  12  13  14  15  16  17  18  19
      L2     1.2 MB      6          2  0,1  2,3  4,5  6,7  8,9  10,11
      L2       2 MB      2          4  12-15  16-19
      L3      24 MB      1         20  0-19

    Kinds
      kind         cpus  which  source
      performance    12  0-11   cpu_core
      efficiency      8  12-19  cpu_atom
    ");
}

#[test]
fn cpus_512_one_last_level_cache_a_line() {
    assert_snapshot!(draw_screen(&large(), None, 80).to_plain(), @r"
    AMD EPYC 9755 · 2 packages, 256 cores, 512 cpus · Linux 6.18.2

    package:0 · node:0 · 64 GB
      llc:0   32 MB L3    0   1   2   3   4   5   6   7  with 256-263
      llc:1   32 MB L3    8   9  10  11  12  13  14  15  with 264-271
      llc:2   32 MB L3   16  17  18  19  20  21  22  23  with 272-279
      llc:3   32 MB L3   24  25  26  27  28  29  30  31  with 280-287
      llc:4   32 MB L3   32  33  34  35  36  37  38  39  with 288-295
      llc:5   32 MB L3   40  41  42  43  44  45  46  47  with 296-303
      llc:6   32 MB L3   48  49  50  51  52  53  54  55  with 304-311
      llc:7   32 MB L3   56  57  58  59  60  61  62  63  with 312-319
      llc:8   32 MB L3   64  65  66  67  68  69  70  71  with 320-327
      llc:9   32 MB L3   72  73  74  75  76  77  78  79  with 328-335
      llc:10  32 MB L3   80  81  82  83  84  85  86  87  with 336-343
      llc:11  32 MB L3   88  89  90  91  92  93  94  95  with 344-351
      llc:12  32 MB L3   96  97  98  99 100 101 102 103  with 352-359
      llc:13  32 MB L3  104 105 106 107 108 109 110 111  with 360-367
      llc:14  32 MB L3  112 113 114 115 116 117 118 119  with 368-375
      llc:15  32 MB L3  120 121 122 123 124 125 126 127  with 376-383
    package:1 · node:1 · 64 GB
      llc:16  32 MB L3  128 129 130 131 132 133 134 135  with 384-391
      llc:17  32 MB L3  136 137 138 139 140 141 142 143  with 392-399
      llc:18  32 MB L3  144 145 146 147 148 149 150 151  with 400-407
      llc:19  32 MB L3  152 153 154 155 156 157 158 159  with 408-415
      llc:20  32 MB L3  160 161 162 163 164 165 166 167  with 416-423
      llc:21  32 MB L3  168 169 170 171 172 173 174 175  with 424-431
      llc:22  32 MB L3  176 177 178 179 180 181 182 183  with 432-439
      llc:23  32 MB L3  184 185 186 187 188 189 190 191  with 440-447
      llc:24  32 MB L3  192 193 194 195 196 197 198 199  with 448-455
      llc:25  32 MB L3  200 201 202 203 204 205 206 207  with 456-463
      llc:26  32 MB L3  208 209 210 211 212 213 214 215  with 464-471
      llc:27  32 MB L3  216 217 218 219 220 221 222 223  with 472-479
      llc:28  32 MB L3  224 225 226 227 228 229 230 231  with 480-487
      llc:29  32 MB L3  232 233 234 235 236 237 238 239  with 488-495
      llc:30  32 MB L3  240 241 242 243 244 245 246 247  with 496-503
      llc:31  32 MB L3  248 249 250 251 252 253 254 255  with 504-511
    caches  L1d 48 KB · L1i 32 KB · L2 1 MB

    Processor  AMD EPYC 9755 128-Core Processor · AuthenticAMD · family 26 (0x1a) ·
      model 68 (0x44) · stepping 0 · microcode 0xb404032 · x86_64 · governor
      performance · fingerprint d656ae793e236c88

    Levels
      level    objects  cpus each  cpus
      package        2        256  0-127,256-383  128-255,384-511
      node           2        256  0-127,256-383  128-255,384-511
      die            2        256  0-127,256-383  128-255,384-511
      llc           32         16  0-7,256-263  8-15,264-271  16-23,272-279  24-31,…
      cluster      256          2  0,256  1,257  2,258  3,259  4,260  5,261  6,262 …
      core         256          2  0,256  1,257  2,258  3,259  4,260  5,261  6,262 …
      cpu          512          1  0-511

    Caches
      cache   size  count  cpus each  cpus
      L1d    48 KB    256          2  0,256  1,257  2,258  3,259  4,260  5,261  6,2…
      L1i    32 KB    256          2  0,256  1,257  2,258  3,259  4,260  5,261  6,2…
      L2      1 MB    256          2  0,256  1,257  2,258  3,259  4,260  5,261  6,2…
      L3     32 MB     32         16  0-7,256-263  8-15,264-271  16-23,272-279  24-…

    Kinds  all cores are of one kind

    Nodes, by the system's numbers (2 nodes); distances, 10 is near
      node  memory  cpus              0   1
      0      64 GB  0-127,256-383    10  32
      1      64 GB  128-255,384-511  32  10
    ");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for machine in [memoryless_nodes(), hybrid(), large()] {
        for width in [20, 40, 80] {
            let screen = draw_screen(&machine, None, width);
            assert!(screen.width() <= width, "{} columns at {width}:\n{}", screen.width(), screen.to_plain());
        }
    }
}

#[test]
fn no_name_of_a_machine_steers_or_hides() {
    for machine in hostile::copies(&hybrid()) {
        [20, 80, 140].into_iter().for_each(|width| hostile::check_screen(&draw_screen(&machine, None, width), width));
        hostile::check_json(&document::TopologyDocument::new(&machine, None));
    }
}

#[test]
fn levels_that_cut_across_each_other_are_rows_of_their_own() {
    let mut machine = ryzen_9950x3d();
    let node = |(number, list): (usize, &&str)| corewise_machine::machine::NumaNode {
        number: number as u32,
        cpus: fabricated_list(list),
        ..Default::default()
    };
    machine.nodes = ["0-3,16-19", "4-11,20-27", "12-15,28-31"].iter().enumerate().map(node).collect();
    let mut screen = TextScreen::new();
    screen.add_block(draw_picture(&machine, 80, 64));
    let picture = screen.to_plain();
    for row in ["0-3,16-19", "4-11,20-27", "12-15,28-31"] {
        assert!(picture.contains(row), "{picture}");
    }
    assert!(picture.contains("The system contradicts itself: the level node cuts across others."), "{picture}");
    assert!(picture.contains("llc:1"), "{picture}");
}
