# Untested: written from Homebrew's formula cookbook, never built by brew.
#   brew install --HEAD ./packaging/homebrew/corewise.rb
class Corewise < Formula
  desc "On which CPUs should this program run, and does it matter at all?"
  license any_of: ["MIT", "Apache-2.0"]
  head "file://#{File.expand_path("../..", __dir__)}", using: :git, branch: "main"

  depends_on "rust" => :build
  depends_on :linux

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"corewise", "completions", shells: [:bash, :zsh, :fish])
    (man1/"corewise.1").write Utils.safe_popen_read(bin/"corewise", "man")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/corewise --version") unless head?
    assert_equal "0-3\n", shell_output("#{bin}/corewise place 0-3 --machine fx-8150 --as list")
  end
end
