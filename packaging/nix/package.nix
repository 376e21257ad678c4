# Untested: written from the Nixpkgs manual, never built by Nix.
#   nix-build packaging/nix/package.nix
{ pkgs ? import <nixpkgs> { } }:

pkgs.rustPlatform.buildRustPackage {
  pname = "corewise";
  version = "0.1.0";

  src = pkgs.lib.cleanSource ../..;
  cargoLock.lockFile = ../../Cargo.lock;
  buildAndTestSubdir = "crates/cli";
  buildType = "dist";

  # The tests start programs of other packages, control groups and an emulator: `cargo xtask test` runs them in a checkout.
  doCheck = false;

  nativeBuildInputs = [ pkgs.installShellFiles ];

  postInstall = ''
    $out/bin/corewise man > corewise.1
    installManPage corewise.1
    for shell in bash fish zsh; do
      $out/bin/corewise completions $shell > corewise.$shell
      installShellCompletion --name corewise.$shell --$shell corewise.$shell
    done
  '';

  meta = {
    description = "On which CPUs should this program run, and does it matter at all?";
    license = with pkgs.lib.licenses; [ mit asl20 ];
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "corewise";
  };
}
